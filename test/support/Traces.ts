import { resourceFromAttributes } from "@opentelemetry/resources"
import { InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base"
import { Effect, Tracer } from "effect"
import * as SpanTracer from "../../src/layers/telemetry/SpanTracer.ts"
import { spanned } from "../../src/services/Tracing.ts"

/** Runs an effect in a request's span, below a caller's where there is one, and answers what is exported of it. */
export const traced = <A, E, R>(effect: Effect.Effect<A, E, R>, parent?: Tracer.AnySpan) =>
  Effect.suspend(() => {
    const exporter = new InMemorySpanExporter()
    const tracer = SpanTracer.make({
      sampling: (_traceId, caller) => caller?.sampled ?? true,
      processor: new SimpleSpanProcessor(exporter),
      resource: resourceFromAttributes({})
    })
    return spanned("GET", { kind: "server", parent }, (server) =>
      Effect.map(Effect.exit(effect), (exit) => ({ exit, server }))
    ).pipe(
      Effect.provideService(Tracer.Tracer, tracer),
      Effect.map(({ exit, server }) => ({ exit, server, spans: exporter.getFinishedSpans() }))
    )
  })
