import { Effect, Tracer } from "effect"
import { decodeSpans } from "../../otel/viewer/Otlp.ts"
import { SpanEncoder } from "../../src/layers/telemetry/spans/SpanEncoder.ts"
import * as SpanTracer from "../../src/layers/telemetry/spans/SpanTracer.ts"
import { withSpan } from "../../src/services/telemetry/Tracing.ts"

/** Runs an effect in a request's span, below a caller's if given. Returns what a collector receives and decodes. */
export const traced = <A, E, R>(effect: Effect.Effect<A, E, R>, parent?: Tracer.AnySpan) =>
  Effect.suspend(() => {
    const encoder = new SpanEncoder({ "service.name": "quarry" })
    const tracer = SpanTracer.make({
      sampling: (_traceId, caller) => caller?.sampled ?? true,
      onEnd: (span) => encoder.add(span)
    })
    return withSpan("GET", { kind: "server", parent }, (server) =>
      Effect.map(Effect.exit(effect), (exit) => ({ exit, server }))
    ).pipe(
      Effect.provideService(Tracer.Tracer, tracer),
      Effect.map(({ exit, server }) => {
        const request = encoder.count === 0 ? Buffer.alloc(0) : Buffer.from(encoder.take())
        return { exit, server, request, spans: decodeSpans(request) }
      })
    )
  })
