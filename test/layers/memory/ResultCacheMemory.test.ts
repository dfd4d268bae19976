import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Ranking } from "../../../src/domain/Organic.ts"
import { layer } from "../../../src/layers/memory/ResultCacheMemory.ts"
import { ResultCache } from "../../../src/services/ResultCache.ts"
import { searchRequest } from "../../support/requests.ts"
import { resultCacheConformance, yieldToOthers } from "../ResultCache.conformance.ts"

const ttl = Duration.minutes(5)

resultCacheConformance("memory", { layer: layer({ ttl, capacity: 100 }), settle: yieldToOthers })

/** Whether a search was answered from the cache. */
const cached = (query: string) =>
  Effect.gen(function* () {
    const cache = yield* ResultCache
    return (yield* cache.get(
      searchRequest({ query }),
      Effect.succeed({ provider: "p", ranking: new Ranking([]), cached: false })
    )).cached
  })

describe("ResultCacheMemory", () => {
  it.effect("keeps an answer for its time from the lookup on, however often it is asked for", () =>
    Effect.gen(function* () {
      assert.isFalse(yield* cached("a"))
      yield* TestClock.adjust("4 minutes")
      assert.isTrue(yield* cached("a"))
      yield* TestClock.adjust(Duration.millis(59_999))
      assert.isTrue(yield* cached("a"))
      yield* TestClock.adjust(Duration.millis(1))
      assert.isFalse(yield* cached("a"))
    }).pipe(Effect.provide(layer({ ttl, capacity: 10 })))
  )

  it.effect("drops the answer asked for longest ago when it is full", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Effect.forEach(["a", "b", "a", "c"], cached), [false, false, true, false])
      assert.deepStrictEqual(yield* Effect.forEach(["a", "c", "b"], cached), [true, true, false])
    }).pipe(Effect.provide(layer({ ttl, capacity: 2 })))
  )

  for (const off of [
    { ttl: Duration.zero, capacity: 10 },
    { ttl, capacity: 0 }
  ]) {
    it.effect(`keeps nothing and still shares what is in flight with ${JSON.stringify(off)}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* Effect.forEach(["a", "a"], cached), [false, false])
        const cache = yield* ResultCache
        let lookups = 0
        const lookup = Effect.sync(() => lookups++).pipe(
          Effect.andThen(Effect.sleep("1 second")),
          Effect.as({ provider: "p", ranking: new Ranking([]), cached: false })
        )
        const waiting = yield* Effect.forEach([1, 2], () =>
          Effect.forkChild(cache.get(searchRequest({ query: "b" }), lookup))
        )
        yield* TestClock.adjust("1 second")
        yield* Effect.forEach(waiting, Fiber.join)
        assert.strictEqual(lookups, 1)
      }).pipe(Effect.provide(layer(off)))
    )
  }
})
