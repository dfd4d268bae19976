import { randomBytes } from "node:crypto"
import { Cause, type Context, Exit, Option, Predicate, Tracer } from "effect"

type Options = Parameters<Tracer.Tracer["span"]>[0]

/** The most that a span holds; more is left out and counted. */
const maxEvents = 128
/** As many as a batch of the ledger carries requests. */
const maxLinks = 256

const poolBytes = 4_096

/** Random hex digits, asked for many at a time. */
const makeHex = (): ((digits: number) => string) => {
  let pool = ""
  let used = 0
  return (digits) => {
    if (used + digits > pool.length) {
      pool = randomBytes(poolBytes).toString("hex")
      used = 0
    }
    used += digits
    return pool.slice(used - digits, used)
  }
}

const hex = makeHex()

export const newTraceId = (): string => hex(32)

interface Ids {
  readonly traceId: string
  readonly spanId: string
}

/** The ids of a span that is not exported. */
const noIds: Ids = { traceId: "0".repeat(32), spanId: "0".repeat(16) }

interface SpanEvent {
  readonly name: string
  readonly time: bigint
  readonly attributes: Readonly<Record<string, unknown>>
}

const noAttributes: ReadonlyMap<string, unknown> = new Map()
const noLinks: ReadonlyArray<Tracer.SpanLink> = []
const noEvents: ReadonlyArray<SpanEvent> = []

/** A span of a trace that is not kept. It carries the ids on and costs next to nothing. */
class UnsampledSpan implements Tracer.Span {
  readonly _tag = "Span"
  readonly sampled: boolean = false
  readonly attributes = noAttributes
  links = noLinks
  name: string
  readonly kind: Tracer.SpanKind
  readonly spanId: string
  readonly traceId: string
  readonly parent: Option.Option<Tracer.AnySpan>
  readonly annotations: Context.Context<never>
  status: Tracer.SpanStatus

  constructor(options: Options, { spanId, traceId }: Ids) {
    this.name = options.name
    this.kind = options.kind
    this.parent = options.parent
    this.annotations = options.annotations
    this.status = { _tag: "Started", startTime: options.startTime }
    this.spanId = spanId
    this.traceId = traceId
  }

  attribute(_key: string, _value: unknown): void {}
  event(_name: string, _startTime: bigint, _attributes?: Record<string, unknown>): void {}
  addLinks(_links: ReadonlyArray<Tracer.SpanLink>): void {}
  end(_endTime: bigint, _exit: Exit.Exit<unknown, unknown>): void {}
}

/** The error's code where it has one of ours, else its class: never its message, which may quote what was asked for. */
const errorType = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (Predicate.hasProperty(error, "_tag") && typeof error._tag === "string") return error._tag
  return error instanceof Error ? error.name : "unknown"
}

/** The data of a span that has ended. */
export interface EndedSpan extends Pick<Tracer.Span, "traceId" | "spanId" | "parent" | "name" | "kind"> {
  readonly startTime: bigint
  readonly endTime: bigint
  readonly attributes: ReadonlyMap<string, unknown>
  readonly events: ReadonlyArray<SpanEvent>
  readonly droppedEvents: number
  readonly links: ReadonlyArray<Tracer.SpanLink>
  readonly droppedLinks: number
  /** True when it ended with a fault. */
  readonly failed: boolean
}

type OnEnd = (span: EndedSpan) => void

class SampledSpan extends UnsampledSpan implements EndedSpan {
  override readonly sampled = true
  override readonly attributes = new Map<string, unknown>()
  readonly startTime: bigint
  endTime: bigint
  events = noEvents
  droppedEvents = 0
  droppedLinks = 0
  failed = false
  private readonly onEnd: OnEnd

  constructor(options: Options, ids: Ids, onEnd: OnEnd) {
    super(options, ids)
    this.startTime = options.startTime
    this.endTime = options.startTime
    this.onEnd = onEnd
    if (options.links.length > 0) this.addLinks(options.links)
  }

  override attribute(key: string, value: unknown): void {
    if (this.status._tag === "Ended" || value === undefined) return
    // Effect names a span once, as it starts, and the router finds the route later.
    if (key === "http.route" && this.kind === "server" && !this.attributes.has(key)) this.name += ` ${value}`
    // Whoever sets an error type knows that it is a fault. An error of the caller is none.
    if (key === "error.type") this.failed = true
    if (key === "db.query.text") this.describeStatement(String(value))
    this.attributes.set(key, value)
  }

  /** Effect names the span of a statement for the database alone. */
  private describeStatement(text: string): void {
    const operation = /\w+/.exec(text)?.[0].toUpperCase()
    if (operation === undefined) return
    this.attributes.set("db.operation.name", operation)
    const namespace = this.attributes.get("db.namespace")
    this.name = namespace === undefined ? operation : `${operation} ${namespace}`
  }

  override event(name: string, time: bigint, attributes: Record<string, unknown> = {}): void {
    if (this.status._tag === "Ended") return
    if (this.events.length < maxEvents) this.events = [...this.events, { name, time, attributes }]
    else this.droppedEvents++
  }

  override addLinks(links: ReadonlyArray<Tracer.SpanLink>): void {
    if (this.status._tag === "Ended") return
    const kept = links.slice(0, maxLinks - this.links.length)
    this.links = this.links.length === 0 ? kept : [...this.links, ...kept]
    this.droppedLinks += links.length - kept.length
  }

  override end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    if (this.status._tag === "Ended") return
    const { startTime } = this
    if (Exit.isFailure(exit)) this.fail(exit.cause)
    this.status = { _tag: "Ended", startTime, endTime, exit }
    // The clock may have been set back meanwhile.
    if (endTime > startTime) this.endTime = endTime
    this.onEnd(this)
  }

  private fail(cause: Cause.Cause<unknown>): void {
    if (Cause.hasInterruptsOnly(cause)) {
      this.attributes.set("quarry.interrupted", true)
      return
    }
    // Inside this process an expected failure may be an ordinary answer. In a call to elsewhere it is a fault.
    if (this.kind === "client" || Cause.hasDies(cause)) this.failed = true
    // Whoever described the fault knows more than the class of its error.
    if (!this.attributes.has("error.type")) this.attributes.set("error.type", errorType(cause))
  }
}

/** Decides if a trace is kept that begins here or that a caller has begun. */
export type Sampling = (traceId: string, caller: Tracer.ExternalSpan | undefined) => boolean

/**
 * A tracer that hands each span to `onEnd` when it ends. The SDK's spans are not used, because they check and copy our
 * own values, which costs more than everything else about a span. The tracer of `@effect/opentelemetry` is not used
 * either: it enters an asynchronous context for each step of each fiber, and records causes with their messages.
 *
 * A trace is sampled as a whole or not at all. Work for several requests is a trace of its own with links to theirs. It is
 * sampled if one of them is, because links to it would lead nowhere otherwise.
 */
export const make = ({ onEnd, sampling }: { readonly sampling: Sampling; readonly onEnd: OnEnd }): Tracer.Tracer => {
  const isKept = (traceId: string, parent: Tracer.AnySpan | undefined, links: ReadonlyArray<Tracer.SpanLink>) => {
    if (parent?._tag === "Span") return parent.sampled
    if (parent === undefined && links.length > 0) return links.some(({ span }) => span.sampled)
    return sampling(traceId, parent)
  }
  return Tracer.make({
    span: (started) => {
      const parent = Option.getOrUndefined(started.parent)
      // No span below it is exported, and its ids are enough to be carried on.
      if (parent?._tag === "Span" && !parent.sampled) return parent
      // Background work such as a sweep makes no trace. Requests do, and work that serves several of them.
      if (parent === undefined && started.kind !== "server" && started.links.length === 0) {
        return new UnsampledSpan(started, noIds)
      }
      const traceId = parent?.traceId ?? newTraceId()
      const ids: Ids = { traceId, spanId: hex(16) }
      return isKept(traceId, parent, started.links)
        ? new SampledSpan(started, ids, onEnd)
        : new UnsampledSpan(started, ids)
    }
  })
}
