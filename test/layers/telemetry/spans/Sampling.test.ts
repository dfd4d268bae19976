import { assert, describe, it } from "@effect/vitest"
import { Effect, Tracer } from "effect"
import { type SamplingOptions, samplingOf } from "../../../../src/layers/telemetry/spans/Sampling.ts"
import * as SpanTracer from "../../../../src/layers/telemetry/spans/SpanTracer.ts"
import { traceContext, withSpan } from "../../../../src/services/telemetry/Tracing.ts"

/** Ids that a sampler by ratio keeps at any ratio above 0, and drops at any ratio below 1. */
const kept = "1".padStart(32, "0")
const dropped = "f".repeat(8).padEnd(32, "0")

const caller = (traceId: string, sampled: boolean) =>
  Tracer.externalSpan({ traceId, spanId: "b7ad6b7169203331", sampled })

/** The decisions without a caller, and for callers that request a trace or decline it, with any ids. */
const decisionsOf = (sampler: string, options: Partial<SamplingOptions> = {}) => {
  const sampling = samplingOf({ sampler, ratio: 0.1, newTraceId: () => dropped, ...options })
  const each = (sampled: boolean) => {
    const decisions = [kept, dropped].map((id) => sampling(id, caller(id, sampled)))
    assert.strictEqual(new Set(decisions).size, 1, "a caller's trace id decides nothing")
    return decisions[0]
  }
  return { kept: sampling(kept, undefined), dropped: sampling(dropped, undefined), asked: each(true), not: each(false) }
}

describe("samplingOf", () => {
  const lucky = { newTraceId: () => kept }

  it("decides about a trace of its own by the ratio, or by the sampler's constant", () => {
    for (const sampler of ["traceidratio", "parentbased_traceidratio"]) {
      assert.deepInclude(decisionsOf(sampler), { kept: true, dropped: false })
    }
    for (const [sampler, is] of [
      ["always_on", true],
      ["parentbased_always_on", true],
      ["always_off", false],
      ["parentbased_always_off", false]
    ] as const) {
      assert.deepInclude(decisionsOf(sampler), { kept: is, dropped: is })
    }
  })

  it("a caller's flag and id do not raise the share above the ratio, and a caller may ask for no trace", () => {
    assert.deepInclude(decisionsOf("parentbased_traceidratio"), { asked: false, not: false })
    assert.deepInclude(decisionsOf("parentbased_traceidratio", lucky), { asked: true, not: false })
    assert.deepInclude(decisionsOf("parentbased_always_on"), { asked: true, not: false })
  })

  it("without parentbased, a caller decides nothing", () => {
    assert.deepInclude(decisionsOf("traceidratio"), { asked: false, not: false })
    assert.deepInclude(decisionsOf("traceidratio", lucky), { asked: true, not: true })
    assert.deepInclude(decisionsOf("always_on"), { asked: true, not: true })
    assert.deepInclude(decisionsOf("always_off", lucky), { asked: false, not: false })
  })

  it("parentbased_always_off traces what callers ask for, and nothing else", () => {
    assert.deepInclude(decisionsOf("parentbased_always_off"), { asked: true, not: false })
  })

  it.effect(
    "of many requests that ask for a trace, the ratio is sampled, and all keep the trace id of the caller",
    () =>
      Effect.gen(function* () {
        let exported = 0
        const tracer = SpanTracer.make({
          sampling: samplingOf({
            sampler: "parentbased_traceidratio",
            ratio: 0.1,
            newTraceId: SpanTracer.newTraceId
          }),
          onEnd: () => void exported++
        })
        const requests = 4_000
        for (let n = 0; n < requests; n++) {
          yield* withSpan("GET", { kind: "server", parent: caller(kept, true) }, (span) =>
            Effect.sync(() => assert.match(traceContext(span), new RegExp(`^00-${kept}-`)))
          ).pipe(Effect.provideService(Tracer.Tracer, tracer))
        }
        // Six standard deviations around a tenth.
        assert.isAbove(exported, requests * 0.07)
        assert.isBelow(exported, requests * 0.13)
      })
  )
})
