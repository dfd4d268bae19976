import {
  type Attributes,
  type AttributeValue,
  context,
  type HrTime,
  INVALID_SPAN_CONTEXT,
  type Link,
  type Tracer as OtelTracer,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace
} from "@opentelemetry/api"
import { Cause, type Context, Exit, Option, Predicate, Tracer } from "effect"

type Options = Parameters<Tracer.Tracer["span"]>[0]

const kinds = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER
}

const toHrTime = (nanos: bigint): HrTime => [Number(nanos / 1_000_000_000n), Number(nanos % 1_000_000_000n)]

const toContext = (span: Tracer.AnySpan): SpanContext => ({
  traceId: span.traceId,
  spanId: span.spanId,
  traceFlags: span.sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
  isRemote: span._tag === "ExternalSpan"
})

const toValue = (value: unknown): AttributeValue | undefined =>
  value === undefined || value === null
    ? undefined
    : typeof value === "string" || typeof value === "number" || typeof value === "boolean"
      ? value
      : String(value)

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
  private readonly span: Span

  constructor(options: Options, span: Span) {
    const { spanId, traceId } = span.spanContext()
    this.name = options.name
    this.kind = options.kind
    this.parent = options.parent
    this.annotations = options.annotations
    this.status = { _tag: "Started", startTime: options.startTime }
    this.spanId = spanId
    this.traceId = traceId
    this.span = span
  }

  attribute(key: string, value: unknown): void {
    if (this.status._tag === "Ended") return
    // Effect names a span once, as it starts, and the router finds the route later.
    if (key === "http.route" && this.kind === "server") this.span.updateName(`${this.name} ${value}`)
    // Whoever tells of an error knows that it is a fault: a refusal of what a caller sent is none.
    if (key === "error.type") this.span.setStatus({ code: SpanStatusCode.ERROR })
    const known = toValue(value)
    if (known !== undefined) this.span.setAttribute(key, known)
  }

  event(name: string, startTime: bigint, attributes: Record<string, unknown> = {}): void {
    this.span.addEvent(name, toAttributes(attributes), toHrTime(startTime))
  }

  addLinks(links: ReadonlyArray<Tracer.SpanLink>): void {
    this.span.addLinks(links.map(toLink))
  }

  end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    if (this.status._tag === "Ended") return
    if (Exit.isFailure(exit)) this.fail(exit.cause)
    this.status = { _tag: "Ended", startTime: this.status.startTime, endTime, exit }
    this.span.end(toHrTime(endTime))
  }

  private fail(cause: Cause.Cause<unknown>): void {
    if (Cause.hasInterruptsOnly(cause)) {
      this.span.setAttribute("quarry.interrupted", true)
      return
    }
    // Within this process an expected failure may be what was asked for, such as a refusal; of a call elsewhere it is one.
    if (this.kind === "client" || Cause.hasDies(cause)) this.span.setStatus({ code: SpanStatusCode.ERROR })
    this.span.setAttribute("error.type", errorType(cause))
  }
}

/**
 * Effect's spans on an OpenTelemetry tracer. Not the tracer of `@effect/opentelemetry`: that one enters an asynchronous
 * context for each step of each fiber, for instrumentations that are not in use here, records whole causes with their
 * messages, and makes a span of the SDK also for what is not sampled.
 */
export const make = (tracer: OtelTracer): Tracer.Tracer =>
  Tracer.make({
    span: (options) => {
      const parent = Option.getOrUndefined(options.parent)
      if (parent?._tag === "Span" && !parent.sampled) return new UnsampledSpan(options, parent)
      // What nobody asked for, such as a sweep, is no trace: requests are, and what serves several of them.
      if (parent === undefined && options.kind !== "server" && options.links.length === 0) {
        return new UnsampledSpan(options, INVALID_SPAN_CONTEXT)
      }
      const span = tracer.startSpan(
        options.name,
        { kind: kinds[options.kind], startTime: toHrTime(options.startTime), links: options.links.map(toLink) },
        parent === undefined ? context.active() : trace.setSpanContext(context.active(), toContext(parent))
      )
      return span.isRecording() ? new SampledSpan(options, span) : new UnsampledSpan(options, span.spanContext())
    }
  })
