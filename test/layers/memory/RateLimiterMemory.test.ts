import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { layer } from "../../../src/layers/memory/RateLimiterMemory.ts"
import { type RateLimitDecision, RateLimiter, windowMs } from "../../../src/services/credits/RateLimiter.ts"
import { rateLimiterConformance } from "../conformance/credits/RateLimiter.conformance.ts"

rateLimiterConformance("memory", {
  layer: layer(),
  elapse: (ms) => TestClock.adjust(ms),
  now: Clock.currentTimeMillis,
  slackMs: 0
})

/** R27 word for word, over all requests admitted so far. */
const reference = (admittedAt: ReadonlyArray<number>, limit: number, now: number): RateLimitDecision => {
  const counted = admittedAt.filter((at) => at > now - windowMs)
  const admitted = counted.length < limit
  const after = admitted ? [...counted, now] : counted
  const leavesAt = Math.min(...after) + windowMs
  return {
    admitted,
    limit,
    remaining: limit - after.length,
    resetAtSeconds: Math.ceil(leavesAt / 1000),
    retryAfterSeconds: Math.max(1, Math.ceil((leavesAt - now) / 1000))
  }
}

describe("RateLimiterMemory", () => {
  it.effect("R27: decides as a count over the whole history does, for any arrivals", () =>
    Effect.gen(function* () {
      const arrivals = fc.array(
        fc.record({
          afterMs: fc.oneof(fc.constantFrom(0, 1, 999, 59_999, 60_000, 60_001), fc.integer({ min: 0, max: 20_000 })),
          credential: fc.constantFrom("a", "b", "c")
        }),
        { maxLength: 120 }
      )
      const cases = fc.sample(fc.tuple(fc.integer({ min: 1, max: 40 }), arrivals), { numRuns: 200, seed: 27 })
      for (const [limit, requests] of cases) {
        yield* Effect.gen(function* () {
          const limiter = yield* RateLimiter
          const admittedAt = new Map<string, Array<number>>()
          for (const { afterMs, credential } of requests) {
            yield* TestClock.adjust(afterMs)
            const now = yield* Clock.currentTimeMillis
            const history = admittedAt.get(credential) ?? []
            const decision = yield* limiter.hit({ credential, limit })
            assert.deepStrictEqual(decision, reference(history, limit, now))
            if (decision.admitted) admittedAt.set(credential, [...history, now])
          }
        }).pipe(Effect.provide(layer(), { local: true }))
      }
    })
  )

  it.effect("forgets the credentials seen longest ago when there are more than it may remember", () =>
    Effect.gen(function* () {
      const limiter = yield* RateLimiter
      const hit = (credential: string) => Effect.map(limiter.hit({ credential, limit: 1 }), ({ admitted }) => admitted)
      assert.deepStrictEqual(yield* Effect.forEach(["a", "b", "c", "a"], hit), [true, true, true, false])
      // The refused hit has made "a" one of those seen last, so that "b" goes.
      assert.isTrue(yield* hit("d"))
      assert.deepStrictEqual(yield* Effect.forEach(["a", "c", "d", "b"], hit), [false, false, false, true])
    }).pipe(Effect.provide(layer({ maxCredentials: 4 })))
  )

  it.effect("an expired window does not take the place of a window that still counts", () =>
    Effect.gen(function* () {
      const limiter = yield* RateLimiter
      const hit = (credential: string) => Effect.map(limiter.hit({ credential, limit: 1 }), ({ admitted }) => admitted)
      assert.isTrue(yield* hit("expired"))
      yield* TestClock.adjust(windowMs)
      assert.deepStrictEqual(yield* Effect.forEach(["a", "b", "c", "d", "a"], hit), [true, true, true, true, false])
    }).pipe(Effect.provide(layer({ maxCredentials: 4 })))
  )
})
