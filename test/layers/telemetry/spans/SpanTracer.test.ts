import { assert, describe, it } from "@effect/vitest"
import { Data, Effect, Tracer } from "effect"
import { TestClock } from "effect/testing"
import { traceContext, withSpan } from "../../../../src/services/telemetry/Tracing.ts"
import { traced } from "../../../support/Traces.ts"

class Refused extends Data.TaggedError("refused")<{ readonly message: string }> {}

const remote = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" }

describe("SpanTracer", () => {
  it.effect("a caller's decision is kept: sampled below a sampled span", () =>
    Effect.gen(function* () {
      const { server, spans } = yield* traced(
        withSpan("part", {}, () => Effect.void),
        Tracer.externalSpan({ ...remote, sampled: true })
      )
      assert.deepStrictEqual(
        spans.map(({ name, parentSpanId }) => [name, parentSpanId]),
        [
          ["part", server.spanId],
          ["GET", remote.spanId]
        ]
      )
      assert.strictEqual(traceContext(server), `00-${remote.traceId}-${server.spanId}-01`)
    })
  )

  it.effect("and nothing below an unsampled span is exported; its ids continue", () =>
    Effect.gen(function* () {
      const { server, spans } = yield* traced(
        withSpan("part", {}, () => Effect.void),
        Tracer.externalSpan({ ...remote, sampled: false })
      )
      assert.strictEqual(spans.length, 0)
      assert.match(traceContext(server), new RegExp(`^00-${remote.traceId}-[0-9a-f]{16}-00$`))
    })
  )

  it.effect("an error is its code, without its message; a refusal is not a fault, a defect is", () =>
    Effect.gen(function* () {
      const { spans } = yield* traced(
        Effect.all(
          [
            Effect.exit(withSpan("refusal", {}, () => new Refused({ message: "a secret" }))),
            Effect.exit(withSpan("call", { kind: "client" }, () => new Refused({ message: "a secret" }))),
            Effect.exit(withSpan("defect", {}, () => Effect.die(new TypeError("a secret"))))
          ],
          { discard: true }
        )
      )
      assert.deepStrictEqual(
        spans.slice(0, 3).map(({ attributes, name, status }) => [name, attributes["error.type"], status]),
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

  it.effect("work without a request is not traced", () =>
    Effect.gen(function* () {
      const { spans } = yield* traced(withSpan("sweep", { root: true }, () => Effect.void))
      assert.deepStrictEqual(
        spans.map(({ name }) => name),
        ["GET"]
      )
    })
  )

  it.effect("a separate trace is kept with the trace it is linked to, and links and texts are bounded", () =>
    Effect.gen(function* () {
      const linked = (sampled: boolean, count: number) => ({
        root: true,
        links: Array.from({ length: count }, () => ({
          span: Tracer.externalSpan({ ...remote, sampled }),
          attributes: {}
        }))
      })
      const { server, spans } = yield* traced(
        Effect.all(
          [
            Effect.useSpan("kept", linked(true, 300), (span) =>
              Effect.sync(() => span.attribute("text", "x".repeat(5_000)))
            ),
            Effect.useSpan("not kept", linked(false, 1), () => Effect.void)
          ],
          { discard: true }
        )
      )
      assert.deepStrictEqual(
        spans.map(({ attributes, droppedLinks, links, name }) => ({
          name,
          links: links.length,
          droppedLinks,
          text: String(attributes.text ?? "").length
        })),
        [
          { name: "kept", links: 256, droppedLinks: 44, text: 1_024 },
          { name: "GET", links: 0, droppedLinks: 0, text: 0 }
        ]
      )
      assert.notStrictEqual(spans[0]?.traceId, server.traceId)
    })
  )

  it.effect(
    "a span lasts as long as the clock says, to the nanosecond, and holds nothing that comes after its end",
    () =>
      Effect.gen(function* () {
        const { spans } = yield* traced(
          Effect.useSpan("part", {}, (span) =>
            Effect.as(Effect.andThen(TestClock.adjust("1500 millis"), TestClock.adjust("700 millis")), span)
          ).pipe(
            Effect.tap((span) =>
              Effect.sync(() => {
                span.attribute("late", true)
                span.addLinks([{ span, attributes: {} }])
                span.event("late", 0n)
              })
            )
          )
        )
        const [part] = spans
        assert.strictEqual((part?.endNanos ?? 0n) - (part?.startNanos ?? 0n), 2_200_000_000n)
        assert.deepStrictEqual([part?.attributes, part?.links, part?.events], [{}, [], []])
      })
  )
})
