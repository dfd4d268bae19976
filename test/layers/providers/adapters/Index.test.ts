import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import type { Target } from "../../../../src/domain/search/Target.ts"
import { type } from "../../../../src/layers/providers/adapters/Index.ts"
import { DocumentIndex, type IndexStats } from "../../../../src/services/index/DocumentIndex.ts"
import { searchRequest } from "../../../support/api/requests.ts"

describe("the built-in index as a provider", () => {
  it.effect("is empty for a target without documents, and counts them again soon after it was empty", () =>
    Effect.gen(function* () {
      let stats: IndexStats = { documents: 0, byTarget: {} }
      let counts = 0
      const count = Effect.sync(() => {
        counts++
        return stats
      })
      const index = Layer.mock(DocumentIndex, {
        stats: count,
        search: () => Effect.succeed({ rows: [], isLoading: false })
      })
      const engines = yield* type.make("own", {}).pipe(Effect.provide(index), Effect.orDie)
      const isEmpty = (target: Target) => engines(undefined).isEmpty?.(target) ?? Effect.succeed(undefined)
      assert.isTrue(yield* isEmpty("alpha_search"))
      stats = { documents: 2, byTarget: { beta_search: 2 } }
      assert.isTrue(yield* isEmpty("beta_search"))
      yield* TestClock.adjust("5 seconds")
      assert.isFalse(yield* isEmpty("beta_search"))
      assert.isTrue(yield* isEmpty("alpha_search"))
      stats = { documents: 3, byTarget: { beta_search: 2 } }
      yield* TestClock.adjust("5 minutes")
      assert.isFalse(yield* isEmpty("alpha_search"))
      assert.strictEqual(counts, 3)
    })
  )

  it.effect("a target that had documents waits for no further count, and is empty once that has found none", () =>
    Effect.gen(function* () {
      const counting = Latch.makeUnsafe(true)
      let documents = 1
      const stats = Effect.suspend(() => counting.whenOpen(Effect.sync(() => ({ documents, byTarget: {} }))))
      const index = Layer.mock(DocumentIndex, { stats, search: () => Effect.succeed({ rows: [], isLoading: false }) })
      const engines = yield* type.make("own", {}).pipe(Effect.provide(index), Effect.orDie)
      const isEmpty = engines(undefined).isEmpty?.("alpha_search") ?? Effect.die("no check")
      assert.isFalse(yield* isEmpty)
      counting.closeUnsafe()
      documents = 0
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual(yield* Effect.timeoutOption(isEmpty, 0), Option.some(false))
      yield* counting.open
      yield* Effect.yieldNow
      assert.isTrue(yield* isEmpty)
    })
  )

  it.effect("is not empty while its store fails, so that the search says why", () =>
    Effect.gen(function* () {
      const index = Layer.mock(DocumentIndex, {
        stats: Effect.die("away"),
        search: () => Effect.succeed({ rows: [], isLoading: false })
      })
      const engines = yield* type.make("own", {}).pipe(Effect.provide(index), Effect.orDie)
      assert.isFalse(yield* engines(undefined).isEmpty?.("alpha_search") ?? Effect.succeed(true))
    })
  )

  it.effect(
    "tells for which of its searches documents were being loaded, also when the load ends before the answer",
    () =>
      Effect.gen(function* () {
        let isLoading = false
        const index = Layer.mock(DocumentIndex, {
          search: () => Effect.succeed({ rows: [], isLoading }),
          isLoading: Effect.sync(() => isLoading)
        })
        const engines = yield* type.make("own", {}).pipe(Effect.provide(index), Effect.orDie)
        const provider = engines(undefined)
        yield* provider.search(searchRequest())
        assert.isFalse(provider.wasLoading?.(0))
        isLoading = true
        yield* TestClock.adjust("1 second")
        yield* provider.search(searchRequest())
        isLoading = false
        yield* TestClock.adjust("1 second")
        yield* provider.search(searchRequest())
        assert.isTrue(provider.wasLoading?.(1_000))
        assert.isFalse(provider.wasLoading?.(1_001))
      })
  )

  it.effect("a statement that takes longer than five seconds is interrupted and a refusal", () =>
    Effect.gen(function* () {
      let interrupted = false
      const index = Layer.mock(DocumentIndex, {
        search: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => (interrupted = true)))
      })
      const engines = yield* type.make("own", {}).pipe(Effect.provide(index), Effect.orDie)
      const searching = yield* Effect.forkChild(Effect.flip(engines(undefined).search(searchRequest())))
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(searching)).reason, "timeout")
      assert.isTrue(interrupted)
    })
  )
})
