import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Refusal } from "../../../src/domain/providers/Refusal.ts"
import * as ResultCacheMemory from "../../../src/layers/memory/ResultCacheMemory.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import { Providers } from "../../../src/services/providers/Providers.ts"
import type { Reranker } from "../../../src/services/providers/Reranker.ts"
import { Answers } from "../../../src/services/search/Answers.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { searchRequest } from "../../support/api/requests.ts"
import { targetSearch } from "../../support/Time.ts"

const rows = ["a", "b", "c", "d"].map((name) => ({ url: `https://example.test/${name}`, title: name, snippet: "" }))

interface Setup {
  readonly order: Reranker["order"]
  readonly top?: number
  readonly providerMs?: number
}

/** Runs searches one after another, `everyMs` apart, over one provider with a reranker. */
const run = ({ order, providerMs = 0, top = 20 }: Setup, queries: ReadonlyArray<string>, everyMs = 20_000) => {
  let calls = 0
  let searches = 0
  const reranker: Reranker = {
    type: "tei",
    top,
    timeoutMs: 1_500,
    order: (query, texts) => {
      calls += 1
      return order(query, texts)
    }
  }
  const provider = {
    name: "meta",
    search: () => {
      searches += 1
      return Effect.delay(Effect.succeed(rows), providerMs)
    }
  }
  const table = {
    alpha_search: [provider],
    beta_search: [],
    gamma_search: [],
    delta_search: [],
    epsilon_search: [],
    zeta_search: [],
    rerankers: { alpha_search: reranker }
  }
  return Effect.gen(function* () {
    const answers = yield* Answers
    const states = yield* ProviderStates
    const outcomes: Array<{ readonly titles: string; readonly afterMs: number }> = []
    for (const query of queries) {
      const startedAt = yield* Clock.currentTimeMillis
      const fiber = yield* Effect.forkChild(
        Effect.gen(function* () {
          const search = yield* targetSearch(searchRequest({ query }))
          const { ranking } = yield* answers.find(search)
          return { ranking, afterMs: (yield* Clock.currentTimeMillis) - startedAt }
        })
      )
      yield* TestClock.adjust(everyMs)
      const { afterMs, ranking } = yield* Fiber.join(fiber)
      outcomes.push({ afterMs, titles: ranking.results.map(({ title }) => title).join("") })
    }
    return { outcomes, calls, searches, state: (yield* states.rerankers)[0] ?? assert.fail("no reranker") }
  }).pipe(
    Effect.provide(
      Answers.layer.pipe(
        Layer.provide(ResultCacheMemory.layer({ ttl: Duration.hours(1), capacity: 100 })),
        Layer.provide(Providers.layer(table)),
        Layer.provideMerge(ProviderStates.layer),
        Layer.provide(StandardSettings.layer)
      )
    )
  )
}

const fails = (reason: Refusal["reason"]) => () => Effect.fail(new Refusal({ reason, message: "no" }))

describe("R86: a target with a reranker", () => {
  it.effect("orders the first rows, the rest follow, and caches that order", () =>
    Effect.gen(function* () {
      const seen: Array<ReadonlyArray<string>> = []
      const order: Reranker["order"] = (query, texts) => {
        seen.push([query, ...texts])
        return Effect.succeed([2, 0])
      }
      const { calls, outcomes, searches } = yield* run({ order, top: 3 }, ["q", "q"])
      assert.deepStrictEqual(
        outcomes.map(({ titles }) => titles),
        ["cabd", "cabd"]
      )
      assert.deepStrictEqual(seen, [["q", "a", "b", "c"]])
      assert.deepStrictEqual([calls, searches], [1, 1])
    })
  )

  for (const [what, order, reason] of [
    ["fails", fails("unreachable"), "unreachable"],
    ["names an unknown row", () => Effect.succeed([7]), "malformed"],
    ["names a row twice", () => Effect.succeed([1, 1]), "malformed"]
  ] as const) {
    it.effect(`a reranker that ${what} keeps the order, and the order is not cached`, () =>
      Effect.gen(function* () {
        const { outcomes, searches, state } = yield* run({ order }, ["q", "q"])
        assert.deepStrictEqual(
          outcomes.map(({ titles }) => titles),
          ["abcd", "abcd"]
        )
        assert.strictEqual(searches, 2)
        assert.strictEqual(state.lastRefusal?.reason, reason)
      })
    )
  }

  it.effect("a late reranker costs its timeout and no more", () =>
    Effect.gen(function* () {
      const { outcomes, state } = yield* run({ order: () => Effect.never }, ["q"])
      assert.deepStrictEqual(outcomes, [{ titles: "abcd", afterMs: 1_500 }])
      assert.strictEqual(state.lastRefusal?.reason, "timeout")
    })
  )

  it.effect("its time counts within the 15 seconds, and a slow provider is not its fault", () =>
    Effect.gen(function* () {
      const { outcomes, state } = yield* run({ order: () => Effect.never, providerMs: 14_500 }, ["q"])
      assert.deepStrictEqual(outcomes, [{ titles: "abcd", afterMs: 14_900 }])
      assert.strictEqual(state.refusals, 0)
    })
  )

  it.effect("its circuit breaker opens after five failures, and a success closes it", () =>
    Effect.gen(function* () {
      let failures = 0
      const order: Reranker["order"] = () => {
        failures += 1
        return failures <= 5 ? fails("unreachable")() : Effect.succeed([3, 2, 1, 0])
      }
      const names = Array.from({ length: 10 }, (_, index) => `q${index}`)
      // The breaker opens 0.8 s after the start and admits a probe five seconds later.
      const { calls, outcomes, state } = yield* run({ order }, names, 800)
      assert.deepStrictEqual(
        outcomes.map(({ titles }) => titles),
        names.map(() => "abcd")
      )
      assert.deepStrictEqual([calls, state.phase], [5, "open"])
      failures = 0
      const healed = yield* run({ order }, [...names, ...names.map((name) => `${name} again`)], 1_000)
      assert.strictEqual(healed.outcomes.at(-1)?.titles, "dcba")
      assert.strictEqual(healed.state.phase, "closed")
    })
  )
})
