import { Clock, Context, Effect, Option, Tracer } from "effect"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import { namesOf } from "./Provider.ts"

/** Whether spans may show what people search for. */
export const TraceQueryText = Context.Reference<boolean>("quarry/services/TraceQueryText", {
  defaultValue: () => false
})

/** Stands where no span is kept. */
const untold = Effect.runSync(Effect.withTracerEnabled(Effect.makeSpan("untold"), false))

/**
 * Runs an effect inside a span, which it is given. Where none is kept it runs as it is: a span in a fiber's context is
 * a layer on it, and after a few of them the whole context is copied. `Effect.withSpan` does the same in three times as
 * many steps, and like `Effect.fn` it keeps where it was called from, which costs more than the span does.
 */
export const withSpan = <A, E, R>(
  name: string,
  options: Tracer.SpanOptionsNoTrace,
  evaluate: (span: Tracer.Span) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const { span: parent, tracer, tracerEnabled } = fiber.cache
    const told = tracerEnabled && tracer !== undefined && tracer !== Tracer.nativeTracer
    if (!told || (parent?._tag === "Span" && !parent.sampled)) return evaluate(untold)
    const clock = fiber.getRef(Clock.Clock)
    const { context } = fiber
    let own: Tracer.Span | undefined
    // The end is seen to before the span begins: between two steps a fiber may be interrupted.
    return Effect.onExitPrimitive(
      Effect.suspend(() => {
        own = begin(tracer, name, options, parent, clock.currentTimeNanosUnsafe())
        fiber.setContext(Context.add(context, Tracer.ParentSpan, own))
        return evaluate(own)
      }),
      (exit) => {
        fiber.setContext(context)
        own?.end(clock.currentTimeNanosUnsafe(), exit)
        return undefined
      }
    )
  })

const begin = (
  tracer: Tracer.Tracer,
  name: string,
  options: Tracer.SpanOptionsNoTrace,
  current: Tracer.AnySpan | undefined,
  startTime: bigint
): Tracer.Span => {
  const { attributes, kind = "internal", links = [], parent = current, root = false } = options
  const span = tracer.span({
    name,
    kind,
    parent: Option.fromUndefinedOr(root ? undefined : parent),
    root,
    links: [...links],
    annotations: Context.empty(),
    startTime,
    sampled: true
  })
  for (const key in attributes) span.attribute(key, attributes[key])
  return span
}

/**
 * The span that an effect runs in; undefined outside of any, and while nothing is traced. Effect's own tracer makes
 * spans and shows them to nobody.
 */
export const currentSpan: Effect.Effect<Tracer.Span | undefined> = Effect.withFiber(({ cache: { span, tracer } }) => {
  if (tracer === undefined || tracer === Tracer.nativeTracer || span?._tag !== "Span") return Effect.undefined
  return Effect.succeed(Context.get(span.annotations, Tracer.DisablePropagation) ? undefined : span)
})

/** The same where it is kept: others are not worth an attribute or a link. */
export const sampledSpan: Effect.Effect<Tracer.Span | undefined> = Effect.map(currentSpan, (span) =>
  span?.sampled === true ? span : undefined
)

/** A span as Trace Context writes it (W3C, level 1, 3.2): in `traceparent` of what we ask, in `traceresponse` of what we answer. */
export const traceContext = ({ sampled, spanId, traceId }: Tracer.Span): string =>
  `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`

/** What is told of a search before it runs. */
export const describeSearch = (span: Tracer.Span, request: SearchRequest, withText: boolean): void => {
  if (!span.sampled) return
  span.attribute("quarry.target", request.target)
  span.attribute("quarry.geo", request.geo)
  if (withText) span.attribute("quarry.query", request.query)
}

/** A provider and the engine that it is asked for. */
export const describeProvider = (span: Tracer.Span, name: string): void => {
  const { engine, provider } = namesOf({ name })
  span.attribute("quarry.provider", provider)
  if (engine !== null) span.attribute("quarry.engine", engine)
}

/** How a search ended. The outcome is `ok` or the API's code. */
export interface SearchEnd {
  readonly outcome: string
  readonly credits: number
  readonly cached: boolean
  /** Whether it was sent to the cache and the providers, which is what makes a search cost. */
  readonly dispatched: boolean
  readonly provider?: string | undefined
}

/** Outcomes that are no refusal of what the caller sent. */
const faults: ReadonlySet<string> = new Set(["upstream_error", "upstream_timeout", "internal_error"])

export const describeOutcome = (span: Tracer.Span, ended: SearchEnd): void => {
  if (!span.sampled) return
  span.attribute("quarry.outcome", ended.outcome)
  span.attribute("quarry.credits", ended.credits)
  span.attribute("quarry.cached", ended.cached)
  span.attribute("quarry.dispatched", ended.dispatched)
  if (ended.provider !== undefined) describeProvider(span, ended.provider)
  if (faults.has(ended.outcome)) span.attribute("error.type", ended.outcome)
}
