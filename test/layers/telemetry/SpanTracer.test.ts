import { assert, describe, it } from "@effect/vitest"
import { resourceFromAttributes } from "@opentelemetry/resources"
import { InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base"
import { Data, Effect, Tracer } from "effect"
import * as SpanTracer from "../../../src/layers/telemetry/SpanTracer.ts"
import { spanned, traceContext } from "../../../src/services/Tracing.ts"

class Refused extends Data.TaggedError("refused")<{ readonly message: string }> {}

/** What is exported of an effect that runs in a request's span, below a caller's where there is one. */
const exported = <A, E>(effect: Effect.Effect<A, E>, parent?: Tracer.AnySpan) => {
  const exporter = new InMemorySpanExporter()
  const tracer = SpanTracer.make({
    sampling: (_traceId, caller) => caller?.sampled ?? true,
    processor: new SimpleSpanProcessor(exporter),
    resource: resourceFromAttributes({})
  })
  return spanned("GET", { kind: "server", parent }, (span) => Effect.as(Effect.exit(effect), span)).pipe(
    Effect.provideService(Tracer.Tracer, tracer),
    Effect.map((server) => ({ server, spans: exporter.getFinishedSpans() }))
  )
}

const remote = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" }

describe("SpanTracer", () => {
  it.effect("a caller's decision is kept: sampled below a sampled span", () =>
    Effect.gen(function* () {
      const { server, spans } = yield* exported(
        spanned("part", {}, () => Effect.void),
        Tracer.externalSpan({ ...remote, sampled: true })
      )
      assert.deepStrictEqual(
        spans.map(({ name, parentSpanContext }) => [name, parentSpanContext?.spanId]),
        [
          ["part", server.spanId],
          ["GET", remote.spanId]
        ]
      )
      assert.strictEqual(traceContext(server), `00-${remote.traceId}-${server.spanId}-01`)
    })
  )

  it.effect("and nothing is exported below one that is not; its ids go on", () =>
    Effect.gen(function* () {
      const { server, spans } = yield* exported(
        spanned("part", {}, () => Effect.void),
        Tracer.externalSpan({ ...remote, sampled: false })
      )
      assert.strictEqual(spans.length, 0)
      assert.match(traceContext(server), new RegExp(`^00-${remote.traceId}-[0-9a-f]{16}-00$`))
    })
  )

  it.effect("an error is its code, without its message; a refusal is no fault, and a defect is", () =>
    Effect.gen(function* () {
      const { spans } = yield* exported(
        Effect.all(
          [
            Effect.exit(spanned("refusal", {}, () => new Refused({ message: "a secret" }))),
            Effect.exit(spanned("call", { kind: "client" }, () => new Refused({ message: "a secret" }))),
            Effect.exit(spanned("defect", {}, () => Effect.die(new TypeError("a secret"))))
          ],
          { discard: true }
        )
      )
      assert.deepStrictEqual(
        spans.slice(0, 3).map(({ attributes, name, status }) => [name, attributes["error.type"], status.code]),
        [
          ["refusal", "refused", 0],
          ["call", "refused", 2],
          ["defect", "TypeError", 2]
        ]
      )
      assert.notInclude(
        JSON.stringify(spans.map(({ attributes, events, status }) => [attributes, events, status])),
        "secret"
      )
    })
  )

  it.effect("what nobody asked for is no trace", () =>
    Effect.gen(function* () {
      const { spans } = yield* exported(spanned("sweep", { root: true }, () => Effect.void))
      assert.deepStrictEqual(
        spans.map(({ name }) => name),
        ["GET"]
      )
    })
  )
})
