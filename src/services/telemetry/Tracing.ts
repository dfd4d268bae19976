import { Clock, Context, Effect, Option, Tracer } from "effect"
import { namesOf as optionsUsed, type SearchOptions, toFields } from "../../domain/options/SearchOptions.ts"
import { namesOf } from "../../domain/providers/providerNames.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import { pageTarget } from "../../domain/search/Target.ts"

export const TraceQueryText = Context.Reference<boolean>("quarry/references/TraceQueryText", {
  defaultValue: () => false
})

/** The UUID of the request that a new trace is about. Its trace ID has the same digits, so the log finds the trace's request. */
export const RequestOfTrace = Context.Reference<string | undefined>("quarry/references/RequestOfTrace", {
  defaultValue: () => undefined
})

/** A span that records nothing, passed if the trace is not sampled. */
const noopSpan = Effect.runSync(Effect.withTracerEnabled(Effect.makeSpan("noop"), false))

/**
 * Runs an effect inside a span. Without sampling there is no span and no change of the context, which would copy it.
 *
 * `Effect.withSpan` takes three times as many steps and captures a stack trace, which costs more than the span.
 */
export const withSpan = <A, E, R>(
  name: string,
  options: Tracer.SpanOptionsNoTrace,
  evaluate: (span: Tracer.Span) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const { span: parent, tracer, tracerEnabled } = fiber.cache
    const isTraced = tracerEnabled && tracer !== undefined && tracer !== Tracer.nativeTracer
    if (!isTraced || (parent?._tag === "Span" && !parent.sampled)) return evaluate(noopSpan)
    const clock = fiber.getRef(Clock.Clock)
    const { context } = fiber
    let span: Tracer.Span | undefined
    // Registered before the span starts, because a fiber may be interrupted between two steps.
    return Effect.onExitPrimitive(
      Effect.suspend(() => {
        span = startSpan(tracer, name, options, parent, clock.currentTimeNanosUnsafe())
        fiber.setContext(Context.add(context, Tracer.ParentSpan, span))
        return evaluate(span)
      }),
      (exit) => {
        fiber.setContext(context)
        span?.end(clock.currentTimeNanosUnsafe(), exit)
        return undefined
      }
    )
  })

const startSpan = (
  tracer: Tracer.Tracer,
  name: string,
  options: Tracer.SpanOptionsNoTrace,
  current: Tracer.AnySpan | undefined,
  startTime: bigint
): Tracer.Span => {
  const {
    annotations = Context.empty(),
    attributes,
    kind = "internal",
    links = [],
    parent = current,
    root = false
  } = options
  const span = tracer.span({
    name,
    kind,
    parent: Option.fromUndefinedOr(root ? undefined : parent),
    root,
    links: [...links],
    annotations,
    startTime,
    sampled: true
  })
  for (const key in attributes) span.attribute(key, attributes[key])
  return span
}

/** Runs an effect without spans, for work that continues after the request whose trace it would be in. */
export const untraced = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withTracerEnabled(effect, false)

/** Undefined without an exporter, because Effect's native tracer makes spans that are not exported. */
export const currentSpan: Effect.Effect<Tracer.Span | undefined> = Effect.withFiber(({ cache: { span, tracer } }) => {
  if (tracer === undefined || tracer === Tracer.nativeTracer || span?._tag !== "Span") return Effect.undefined
  return Effect.succeed(Context.get(span.annotations, Tracer.DisablePropagation) ? undefined : span)
})

/** The current span if it is sampled, so that attributes of unsampled spans cost nothing. */
export const sampledSpan: Effect.Effect<Tracer.Span | undefined> = Effect.map(currentSpan, (span) =>
  span?.sampled === true ? span : undefined
)

/** Formats a span for `traceparent` and `traceresponse` (W3C Trace Context level 1, 3.2). */
export const traceContext = ({ sampled, spanId, traceId }: Tracer.Span): string =>
  `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`

export const describeSearch = (span: Tracer.Span, request: SearchRequest, withText: boolean): void => {
  if (!span.sampled) return
  span.attribute("quarry.target", request.target)
  span.attribute("quarry.geo", request.geo)
  if (withText) span.attribute("quarry.query", request.query)
  if (request.options !== undefined) describeOptions(span, request.options, withText)
}

/** The options of a search. Domains are recorded under the same condition as a query's text. */
const describeOptions = (span: Tracer.Span, options: SearchOptions, withText: boolean): void => {
  span.attribute("quarry.options", optionsUsed(options).join(","))
  const { exclude_domains, include_domains, ...others } = toFields(options)
  for (const [name, value] of Object.entries(others)) span.attribute(`quarry.${name}`, value)
  if (!withText) return
  if (include_domains !== undefined) span.attribute("quarry.include_domains", include_domains.join(","))
  if (exclude_domains !== undefined) span.attribute("quarry.exclude_domains", exclude_domains.join(","))
}

export const describePage = (span: Tracer.Span, url: string, withText: boolean): void => {
  if (!span.sampled) return
  span.attribute("quarry.target", pageTarget)
  if (withText) span.attribute("quarry.query", url)
}

export const describeProvider = (span: Tracer.Span, name: string): void => {
  const { engine, provider } = namesOf({ name })
  span.attribute("quarry.provider", provider)
  if (engine !== null) span.attribute("quarry.engine", engine)
}

/** `outcome` is `ok` or the API's error code. */
export interface OutcomeAttributes {
  readonly outcome: string
  readonly credits: number
  readonly cached: boolean
  /** True if the search was sent to the cache and the providers, and is charged. */
  readonly dispatched: boolean
  readonly provider?: string | undefined
}

/** Outcomes that are not the caller's fault. Only these set `error.type`. */
const faults: ReadonlySet<string> = new Set(["upstream_error", "upstream_timeout", "internal_error"])

export const describeEnd = (span: Tracer.Span, outcome: string): void => {
  span.attribute("quarry.outcome", outcome)
  if (faults.has(outcome)) span.attribute("error.type", outcome)
}

export const describeOutcome = (span: Tracer.Span, end: OutcomeAttributes): void => {
  if (!span.sampled) return
  describeEnd(span, end.outcome)
  span.attribute("quarry.credits", end.credits)
  span.attribute("quarry.cached", end.cached)
  span.attribute("quarry.dispatched", end.dispatched)
  if (end.provider !== undefined) describeProvider(span, end.provider)
}
