import { randomBytes } from "node:crypto"
import {
  type Attributes,
  type AttributeValue,
  type HrTime,
  INVALID_SPAN_CONTEXT,
  type Link,
  type SpanContext,
  SpanKind,
  type SpanStatus,
  SpanStatusCode,
  TraceFlags
} from "@opentelemetry/api"
import type { Resource } from "@opentelemetry/resources"
import type { ReadableSpan, SpanProcessor } from "@opentelemetry/sdk-trace-base"
import { Cause, type Context, Exit, Option, Predicate, Tracer } from "effect"

type Options = Parameters<Tracer.Tracer["span"]>[0]

/** What a span holds at most; what is more is left out, and events and links are counted. */
const maxAttributeChars = 1_024
const maxEvents = 128
/** As many as a batch of the ledger carries requests. */
const maxLinks = 256

const kinds = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER
}

const poolBytes = 4_096

/** Hex characters of random bytes, asked for many at a time. */
const makeHex = (): ((bytes: number) => string) => {
  let pool = Buffer.alloc(0)
  let used = 0
  return (bytes) => {
    if (used + bytes > pool.length) {
      pool = randomBytes(poolBytes)
      used = 0
    }
    used += bytes
    return pool.toString("hex", used - bytes, used)
  }
}

const hex = makeHex()
const newTraceId = () => hex(16)
const newSpanId = () => hex(8)

const toHrTime = (nanos: bigint): HrTime => [Number(nanos / 1_000_000_000n), Number(nanos % 1_000_000_000n)]

const toContext = (span: Tracer.AnySpan): SpanContext =>
  span instanceof SampledSpan
    ? span.exported.context
    : {
        traceId: span.traceId,
        spanId: span.spanId,
        traceFlags: span.sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
        isRemote: span._tag === "ExternalSpan"
      }

const toValue = (value: unknown): AttributeValue | undefined => {
  if (typeof value === "number" || typeof value === "boolean") return value
  return value === undefined || value === null ? undefined : String(value).slice(0, maxAttributeChars)
}

const toAttributes = (record: Readonly<Record<string, unknown>>): Attributes =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, toValue(value)]))

const toLink = ({ attributes, span }: Tracer.SpanLink): Link => ({
  context: toContext(span),
  attributes: toAttributes(attributes)
})

// Spans are made by the thousand, and nobody reads these of ours back.
const noAttributes: ReadonlyMap<string, unknown> = new Map()
const noLinks: ReadonlyArray<Tracer.SpanLink> = []

/** A span below one that is not sampled: it carries the ids on and costs next to nothing. */
class UnsampledSpan implements Tracer.Span {
  readonly _tag = "Span"
  readonly sampled = false
  readonly attributes = noAttributes
  readonly links = noLinks
  readonly name: string
  readonly kind: Tracer.SpanKind
  readonly spanId: string
  readonly traceId: string
  readonly parent: Option.Option<Tracer.AnySpan>
  readonly annotations: Context.Context<never>
  readonly status: Tracer.SpanStatus

  constructor(options: Options, { spanId, traceId }: { readonly spanId: string; readonly traceId: string }) {
    this.name = options.name
    this.kind = options.kind
    this.parent = options.parent
    this.annotations = options.annotations
    this.status = { _tag: "Started", startTime: options.startTime }
    this.spanId = spanId
    this.traceId = traceId
  }

  attribute(): void {}
  event(): void {}
  addLinks(): void {}
  end(): void {}
}

/** The error's code where it has one of ours, else its class: never its message, which may quote what was asked for. */
const errorType = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (Predicate.hasProperty(error, "_tag") && typeof error._tag === "string") return error._tag
  return error instanceof Error ? error.name : "unknown"
}

const scope = { name: "quarry" }
const unset: SpanStatus = { code: SpanStatusCode.UNSET }
const failed: SpanStatus = { code: SpanStatusCode.ERROR }
const unended: HrTime = [0, 0]

/** A span as exporters read it. */
class ExportedSpan implements ReadableSpan {
  name: string
  readonly kind: SpanKind
  readonly context: SpanContext
  readonly startTime: HrTime
  endTime = unended
  status = unset
  readonly attributes: Attributes = {}
  readonly links: Array<Link> = []
  readonly events: ReadableSpan["events"] = []
  readonly resource: Resource
  readonly instrumentationScope = scope
  readonly droppedAttributesCount = 0
  droppedEventsCount = 0
  droppedLinksCount = 0
  readonly parentSpanContext?: SpanContext

  constructor(options: Options, context: SpanContext, parent: Tracer.AnySpan | undefined, resource: Resource) {
    this.name = options.name
    this.kind = kinds[options.kind]
    this.context = context
    this.startTime = toHrTime(options.startTime)
    this.resource = resource
    if (parent !== undefined) this.parentSpanContext = toContext(parent)
    if (options.links.length > 0) this.link(options.links)
  }

  spanContext(): SpanContext {
    return this.context
  }

  get ended(): boolean {
    return this.endTime !== unended
  }

  get duration(): HrTime {
    const nanos = (this.endTime[0] - this.startTime[0]) * 1_000_000_000 + this.endTime[1] - this.startTime[1]
    return [Math.floor(nanos / 1_000_000_000), nanos % 1_000_000_000]
  }

  link(links: ReadonlyArray<Tracer.SpanLink>): void {
    const kept = links.slice(0, maxLinks - this.links.length)
    this.links.push(...kept.map(toLink))
    this.droppedLinksCount += links.length - kept.length
  }
}

class SampledSpan implements Tracer.Span {
  readonly _tag = "Span"
  readonly sampled = true
  readonly attributes = noAttributes
  readonly links = noLinks
  readonly name: string
  readonly kind: Tracer.SpanKind
  readonly spanId: string
  readonly traceId: string
  readonly parent: Option.Option<Tracer.AnySpan>
  readonly annotations: Context.Context<never>
  status: Tracer.SpanStatus
  readonly exported: ExportedSpan
  private readonly processor: SpanProcessor

  constructor(options: Options, exported: ExportedSpan, processor: SpanProcessor) {
    this.name = options.name
    this.kind = options.kind
    this.parent = options.parent
    this.annotations = options.annotations
    this.status = { _tag: "Started", startTime: options.startTime }
    this.spanId = exported.context.spanId
    this.traceId = exported.context.traceId
    this.exported = exported
    this.processor = processor
  }

  attribute(key: string, value: unknown): void {
    if (this.status._tag === "Ended") return
    // Effect names a span once, as it starts, and the router finds the route later.
    if (key === "http.route" && this.kind === "server") this.exported.name = `${this.name} ${value}`
    // Whoever tells of an error knows that it is a fault: a refusal of what a caller sent is none.
    if (key === "error.type") this.exported.status = failed
    const known = toValue(value)
    if (known !== undefined) this.exported.attributes[key] = known
  }

  event(name: string, startTime: bigint, attributes: Record<string, unknown> = {}): void {
    if (this.status._tag === "Ended") return
    const { events } = this.exported
    if (events.length < maxEvents) {
      events.push({ name, time: toHrTime(startTime), attributes: toAttributes(attributes), droppedAttributesCount: 0 })
    } else this.exported.droppedEventsCount++
  }

  addLinks(links: ReadonlyArray<Tracer.SpanLink>): void {
    if (this.status._tag !== "Ended") this.exported.link(links)
  }

  end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    if (this.status._tag === "Ended") return
    const { startTime } = this.status
    if (Exit.isFailure(exit)) this.fail(exit.cause)
    this.status = { _tag: "Ended", startTime, endTime, exit }
    // The clock may have been set back meanwhile.
    this.exported.endTime = endTime < startTime ? [...this.exported.startTime] : toHrTime(endTime)
    this.processor.onEnd(this.exported)
  }

  private fail(cause: Cause.Cause<unknown>): void {
    const { exported } = this
    if (Cause.hasInterruptsOnly(cause)) {
      exported.attributes["quarry.interrupted"] = true
      return
    }
    // Within this process an expected failure may be what was asked for, such as a refusal; of a call elsewhere it is one.
    if (this.kind === "client" || Cause.hasDies(cause)) exported.status = failed
    exported.attributes["error.type"] = errorType(cause)
  }
}

/** Whether a trace that begins here, or that a caller has begun, is kept. */
export type Sampling = (traceId: string, caller: Tracer.ExternalSpan | undefined) => boolean

/**
 * Effect's spans for OpenTelemetry's exporters, without the SDK's spans between them: those check and copy what is ours
 * anyway, and cost more than everything else about a span. Nor is it the tracer of `@effect/opentelemetry`, which enters
 * an asynchronous context for each step of each fiber, for instrumentations that are not in use here, and records whole
 * causes with their messages.
 *
 * A trace is kept as a whole or not at all. Work that was done for several requests is a trace of its own, linked to
 * theirs, and kept when one of them is, or the links would lead nowhere.
 */
export const make = (options: {
  readonly sampling: Sampling
  readonly processor: SpanProcessor
  readonly resource: Resource
}): Tracer.Tracer => {
  const isKept = (traceId: string, parent: Tracer.AnySpan | undefined, links: ReadonlyArray<Tracer.SpanLink>) => {
    if (parent?._tag === "Span") return parent.sampled
    if (parent === undefined && links.length > 0) return links.some(({ span }) => span.sampled)
    return options.sampling(traceId, parent)
  }
  return Tracer.make({
    span: (started) => {
      const parent = Option.getOrUndefined(started.parent)
      if (parent?._tag === "Span" && !parent.sampled) return new UnsampledSpan(started, parent)
      // What nobody asked for, such as a sweep, is no trace: requests are, and what serves several of them.
      if (parent === undefined && started.kind !== "server" && started.links.length === 0) {
        return new UnsampledSpan(started, INVALID_SPAN_CONTEXT)
      }
      const traceId = parent?.traceId ?? newTraceId()
      const spanId = newSpanId()
      if (!isKept(traceId, parent, started.links)) return new UnsampledSpan(started, { traceId, spanId })
      const context: SpanContext = { traceId, spanId, traceFlags: TraceFlags.SAMPLED }
      return new SampledSpan(started, new ExportedSpan(started, context, parent, options.resource), options.processor)
    }
  })
}
