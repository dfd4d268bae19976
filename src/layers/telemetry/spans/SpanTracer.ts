import { randomBytes } from "node:crypto"
import { Cause, Context, Exit, Option, Predicate, Tracer } from "effect"
import { RequestOfTrace } from "../../../services/telemetry/Tracing.ts"

type Options = Parameters<Tracer.Tracer["span"]>[0]

const maxEvents = 128
/** Matches the number of requests in a ledger batch. */
const maxLinks = 256

const poolBytes = 4_096

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

const noIds: Ids = { traceId: "0".repeat(32), spanId: "0".repeat(16) }

interface SpanEvent {
  readonly name: string
  readonly time: bigint
  readonly attributes: Readonly<Record<string, unknown>>
}

const noAttributes: ReadonlyMap<string, unknown> = new Map()
const noLinks: ReadonlyArray<Tracer.SpanLink> = []
const noEvents: ReadonlyArray<SpanEvent> = []

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

/** The error's own code, or its class. Never its message, which may quote the query. */
const errorType = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (Predicate.hasProperty(error, "_tag") && typeof error._tag === "string") return error._tag
  return error instanceof Error ? error.name : "unknown"
}

export interface EndedSpan extends Pick<Tracer.Span, "traceId" | "spanId" | "parent" | "name" | "kind"> {
  readonly startTime: bigint
  readonly endTime: bigint
  readonly attributes: ReadonlyMap<string, unknown>
  readonly events: ReadonlyArray<SpanEvent>
  readonly droppedEvents: number
  readonly links: ReadonlyArray<Tracer.SpanLink>
  readonly droppedLinks: number
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
    // Effect names a span when it starts, before the router knows the route.
    if (key === "http.route" && this.kind === "server" && !this.attributes.has(key)) this.name += ` ${value}`
    // Errors of the caller set no error type.
    if (key === "error.type") this.failed = true
    if (key === "db.query.text") this.describeStatement(String(value))
    this.attributes.set(key, value)
  }

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
    // The clock may have been set back.
    if (endTime > startTime) this.endTime = endTime
    this.onEnd(this)
  }

  private fail(cause: Cause.Cause<unknown>): void {
    if (Cause.hasInterruptsOnly(cause)) {
      this.attributes.set("quarry.interrupted", true)
      return
    }
    // An expected failure may be an ordinary result inside this process, but not in a call to another system.
    if (this.kind === "client" || Cause.hasDies(cause)) this.failed = true
    // An error type that is already set is more precise than the class of the error.
    if (!this.attributes.has("error.type")) this.attributes.set("error.type", errorType(cause))
  }
}

export type Sampling = (traceId: string, caller: Tracer.ExternalSpan | undefined) => boolean

/**
 * The SDK's spans are slow, because they check and copy every value. The tracer of `@effect/opentelemetry` enters an
 * async context for every fiber step and records error messages. Work for several requests is a separate trace with
 * links to theirs, and is sampled if any of them is: its links would lead nowhere otherwise.
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
      // Spans below it are not exported and only need its ids.
      if (parent?._tag === "Span" && !parent.sampled) return parent
      // Background work such as a sweep is not traced, unless it serves requests.
      if (parent === undefined && started.kind !== "server" && started.links.length === 0) {
        return new UnsampledSpan(started, noIds)
      }
      const traceId =
        parent?.traceId ?? Context.get(started.annotations, RequestOfTrace)?.replaceAll("-", "") ?? newTraceId()
      const ids: Ids = { traceId, spanId: hex(16) }
      return isKept(traceId, parent, started.links)
        ? new SampledSpan(started, ids, onEnd)
        : new UnsampledSpan(started, ids)
    }
  })
}
