import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import type { Answer } from "../../../src/domain/search/Answer.ts"
import { Ranking } from "../../../src/domain/search/Ranking.ts"
import { AnswerStore, layer, make } from "../../../src/layers/memory/ResultCacheMemory.ts"
import { maxAnswerBytes, ResultCache } from "../../../src/services/search/ResultCache.ts"
import { searchRequest } from "../../support/api/requests.ts"
import { searchCache } from "../../support/Time.ts"
import { resultCacheConformance, yieldToOthers } from "../conformance/search/ResultCache.conformance.ts"

const ttl = Duration.minutes(5)

resultCacheConformance("memory", { layer: layer({ ttl, capacity: 100 }), settle: yieldToOthers })

/** Whether a search was answered from the cache. */
const cached = (query: string) =>
  Effect.gen(function* () {
    const cache = yield* ResultCache
    return (yield* searchCache(
      cache,
      searchRequest({ query }),
      Effect.succeed({ provider: "p", ranking: new Ranking([]), cached: false })
    )).cached
  })

/** An answer of about `bytes` bytes, two for each character. */
const answer = (bytes: number): Answer => ({
  provider: "p",
  ranking: new Ranking([
    { position: 1, title: "t".repeat(bytes / 2), url: "https://a.test/", domain: "a.test", snippet: "" }
  ]),
  cached: false
})

/** Bytes that an answer adds to an empty store. */
const bytesOf = (key: string, found: Answer): number => {
  const store = new AnswerStore({ ttl, capacity: 1 })
  store.set(key, found, 0)
  return store.bytes
}

describe("ResultCacheMemory: bounds", () => {
  it("400 answers of nearly 256 KiB take at most 64 MiB", () => {
    const store = new AnswerStore({ ttl, capacity: 10_000 })
    for (let index = 0; index < 400; index++) store.set(`key ${index}`, answer(maxAnswerBytes - 400), 0)
    assert.isAtMost(store.bytes, 64 * 1024 * 1024)
    assert.isAbove(store.count, 250)
    assert.isDefined(store.get("key 399", 0))
  })

  it("an answer above 256 KiB is not kept, and replaces an earlier one", () => {
    const store = new AnswerStore({ ttl, capacity: 10 })
    store.set("a", answer(1), 0)
    store.set("a", answer(maxAnswerBytes), 0)
    assert.deepStrictEqual([store.get("a", 0), store.bytes, store.count], [undefined, 0, 0])
  })

  it.effect("an expired answer that is not requested again is removed within a minute", () =>
    Effect.gen(function* () {
      const store = new AnswerStore({ ttl, capacity: 10 })
      const { set } = yield* make(store)
      yield* set("a", answer(1))
      yield* TestClock.adjust("4 minutes")
      yield* set("b", answer(1))
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(store.count, 1)
      yield* TestClock.adjust("4 minutes")
      assert.deepStrictEqual([store.count, store.bytes], [0, 0])
      // The sweep ended with the last answer, and begins anew with the next.
      yield* set("c", answer(1))
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(store.count, 0)
    })
  )

  it("keeps the answers asked for last, as many as both bounds allow", () => {
    const step = fc.record({
      what: fc.constantFrom("get", "set", "set", "wait"),
      key: fc.constantFrom("a", "b", "ccc", "d".repeat(300)),
      bytes: fc.integer({ min: 0, max: 2_500 })
    })
    const bounds = fc.record({ capacity: fc.integer({ min: 0, max: 4 }), maxBytes: fc.integer({ min: 0, max: 9_000 }) })
    fc.assert(
      fc.property(bounds, fc.array(step, { maxLength: 60 }), ({ capacity, maxBytes }, steps) => {
        const store = new AnswerStore({ ttl: Duration.millis(100), capacity, maxBytes })
        let model: ReadonlyArray<{ key: string; found: Answer; bytes: number; expiresAt: number }> = []
        let now = 0
        for (const { bytes, key, what } of steps) {
          if (what === "wait") now += bytes / 50
          if (what === "get") {
            const entry = model.find((entry) => entry.key === key && entry.expiresAt > now)
            if (entry !== undefined) model = [...model.filter((other) => other !== entry), entry]
            assert.strictEqual(store.get(key, now)?.ranking, entry?.found.ranking)
          }
          if (what === "set") {
            const found = answer(bytes)
            const entry = { key, found, bytes: bytesOf(key, found), expiresAt: now + 100 }
            model = model.filter((other) => other.key !== key && other.expiresAt > now)
            if (entry.bytes <= maxBytes) model = [...model, entry]
            while (model.length > capacity || model.reduce((sum, { bytes }) => sum + bytes, 0) > maxBytes) {
              model = model.slice(1)
            }
            store.set(key, found, now)
          }
        }
        assert.strictEqual(store.count, model.length)
        assert.strictEqual(
          store.bytes,
          model.reduce((sum, { bytes }) => sum + bytes, 0)
        )
        store.sweep(Number.POSITIVE_INFINITY)
        assert.deepStrictEqual([store.count, store.bytes], [0, 0])
      })
    )
  })
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
          Effect.forkChild(searchCache(cache, searchRequest({ query: "b" }), lookup))
        )
        yield* TestClock.adjust("1 second")
        yield* Effect.forEach(waiting, Fiber.join)
        assert.strictEqual(lookups, 1)
      }).pipe(Effect.provide(layer(off)))
    )
  }
})
