import { assert, describe, it } from "@effect/vitest"
import { Effect, Tracer } from "effect"
import { traced } from "../../../support/Traces.ts"

const remote = { traceId: "0AF7651916CD43DD8448EB211C80319C", spanId: "B7AD6B7169203331", sampled: true }

describe("SpanEncoder", () => {
  it.effect("a collector reads exactly what was written, for any span", () =>
    Effect.gen(function* () {
      const attributes = {
        text: "plain",
        "text of all sorts": "größe 検索 🔎",
        "a long text": "é".repeat(2_000),
        "a text of no sort": "cut \ud83d",
        empty: "",
        true: true,
        false: false,
        zero: 0,
        small: 127,
        large: Number.MAX_SAFE_INTEGER,
        negative: -1,
        lowest: Number.MIN_SAFE_INTEGER,
        broken: 0.1,
        infinite: Number.POSITIVE_INFINITY,
        undefined,
        null: null
      }
      const { spans, server } = yield* traced(
        Effect.useSpan(
          "größe",
          { kind: "client", links: [{ span: Tracer.externalSpan(remote), attributes }] },
          (span) =>
            Effect.sync(() => {
              for (const [name, value] of Object.entries(attributes)) span.attribute(name, value)
              span.event("event", 1_700_000_000_123_456_789n, attributes)
            })
        ),
        Tracer.externalSpan(remote)
      )
      const [span, root] = spans
      const { null: _null, undefined: _undefined, ...told } = attributes
      const read = { ...told, "a long text": "é".repeat(1_024), "a text of no sort": "cut \ufffd" }
      assert.deepStrictEqual(span?.attributes, read)
      assert.deepStrictEqual(span?.events, [{ name: "event", attributes: read }])
      const ids = { traceId: remote.traceId.toLowerCase(), spanId: remote.spanId.toLowerCase() }
      assert.deepStrictEqual(span?.links, [ids])
      assert.deepInclude(span, { name: "größe", kind: 3, traceId: ids.traceId, parentSpanId: server.spanId, status: 0 })
      assert.deepInclude(root, { kind: 2, parentSpanId: ids.spanId, spanId: server.spanId })
    })
  )

  it.effect("a request of many spans is read whole, and the next one begins anew", () =>
    Effect.gen(function* () {
      const many = yield* traced(
        Effect.forEach(
          Array.from({ length: 500 }, (_, n) => n),
          (n) => Effect.useSpan(`span ${n}`, { attributes: { text: "x".repeat(n) } }, () => Effect.void)
        )
      )
      assert.strictEqual(many.spans.length, 501)
      assert.isTrue(
        many.spans
          .slice(0, 500)
          .every(({ attributes, name }, n) => name === `span ${n}` && String(attributes.text).length === n)
      )
    })
  )
})
