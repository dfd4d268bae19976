import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Metric, Result } from "effect"
import { TestClock } from "effect/testing"
import { InvalidRequest, UpstreamError } from "../../../src/domain/errors.ts"
import type { Provider } from "../../../src/services/providers/Provider.ts"
import { timesUntil } from "../../../src/services/providers/ProviderMonitor.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import { Providers } from "../../../src/services/providers/Providers.ts"
import { Bulk } from "../../../src/services/search/Bulk.ts"
import { Search } from "../../../src/services/search/Search.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { aCaller, aPrincipal, aRequest, found, providing, services } from "../../support/api/Services.ts"
import { deadlineAfter } from "../../support/Time.ts"

/** The present counts by metric and labels; for histograms the number of values. */
const counted = Effect.map(Metric.snapshot, (metrics) => {
  const counts: Record<string, number> = {}
  for (const { attributes = {}, id, state } of metrics) {
    const { unit: _, ...labels } = attributes
    const value = "count" in state ? state.count : "value" in state ? state.value : undefined
    if (value !== undefined) counts[[id, ...Object.values(labels)].join(" ")] = Number(value)
  }
  return counts
})

const isolated = Effect.provideServiceEffect(
  Metric.MetricRegistry,
  Effect.sync(() => new Map())
)

const failing = new UpstreamError({ message: "made up" })

describe("what is counted", () => {
  it.effect("of a batch: each row by how it ended, the credits it cost and those that went back", () =>
    Effect.gen(function* () {
      const { principal } = yield* aCaller({ plan: "growth" })
      const bulk = yield* Bulk
      const row = (query: string) => Result.succeed({ ...aRequest, query })
      const refused = Result.fail(InvalidRequest.whole("made up"))
      yield* bulk.run(principal, [row("a"), row("b"), row("fail"), row("die"), refused])
      const counts = yield* counted
      const rows = (target: string, outcome: string) => counts[`quarry.search.duration row ${target} ${outcome} false`]
      assert.strictEqual(rows(aRequest.target, "ok"), 2)
      assert.strictEqual(rows(aRequest.target, "upstream_error"), 1)
      assert.strictEqual(rows("none", "internal_error"), 1)
      assert.strictEqual(rows("none", "invalid_request"), 1)
      assert.strictEqual(counts[`quarry.credits.charged ${aRequest.target}`], 3)
      assert.strictEqual(counts["quarry.credits.returned"], 1)
      assert.strictEqual(counts["quarry.cache.lookups miss"], 4)
    }).pipe(
      Effect.provide(
        services(
          providing(({ query }) =>
            query === "fail" ? Effect.fail(failing) : query === "die" ? Effect.die("a bug") : Effect.succeed(found(1))
          )
        )
      ),
      isolated
    )
  )

  it.effect("of a search: its outcome, its credit, and the cache's part", () =>
    Effect.gen(function* () {
      const search = yield* Search
      const principal = yield* aPrincipal
      yield* search.run(principal, aRequest)
      yield* search.run(principal, aRequest)
      const counts = yield* counted
      assert.strictEqual(counts[`quarry.search.duration search ${aRequest.target} ok false`], 1)
      assert.strictEqual(counts[`quarry.search.duration search ${aRequest.target} ok true`], 1)
      assert.strictEqual(counts["quarry.cache.lookups hit"], 1)
      assert.strictEqual(counts[`quarry.credits.charged ${aRequest.target}`], 2)
      assert.strictEqual(counts["quarry.credits.refused"], 0)
    }).pipe(Effect.provide(services(providing(() => Effect.succeed(found(1))))), isolated)
  )

  it.effect("of credits that an account does not have: what it asked for", () =>
    Effect.gen(function* () {
      const { principal } = yield* aCaller({ plan: "custom", quota: 1 })
      const bulk = yield* Bulk
      const rows = ["a", "b", "c"].map((query) => Result.succeed({ ...aRequest, query }))
      yield* Effect.flip(bulk.run(principal, rows))
      assert.strictEqual((yield* counted)["quarry.credits.refused"], 3)
    }).pipe(Effect.provide(services(providing(() => Effect.succeed(found(1))))), isolated)
  )

  it.effect("a provider that hangs and is the last to be asked has timed out, and is left out in time", () =>
    Effect.gen(function* () {
      const search = yield* Search
      const principal = yield* aPrincipal
      for (let n = 0; n < 3; n++) {
        const fiber = yield* Effect.forkChild(search.run(principal, { ...aRequest, query: `${n}` }))
        yield* TestClock.adjust("15 seconds")
        yield* Fiber.join(fiber)
      }
      const counts = yield* counted
      assert.strictEqual(counts["quarry.provider.attempt.duration meta google timeout"], 3)
      assert.isUndefined(counts["quarry.provider.attempt.duration meta google abandoned"])
      assert.strictEqual(counts["quarry.provider.breaker meta google open"], 1)
      assert.strictEqual(counts["quarry.provider.breaker meta google closed"], 0)
    }).pipe(Effect.provide(hanging), isolated)
  )

  it.effect("a caller that leaves early says nothing of the provider", () =>
    Effect.gen(function* () {
      const { monitor } = yield* ProviderStates
      const provider = yield* monitor(hangs)
      const fiber = yield* Effect.forkChild(provider.attempt(aRequest, yield* timesUntil(yield* deadlineAfter(1_000))))
      yield* TestClock.adjust(900)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual((yield* counted)["quarry.provider.attempt.duration meta google abandoned"], 1)
      assert.strictEqual(provider.state(0).refusals, 0)
    }).pipe(Effect.provide(ProviderStates.layer), isolated)
  )
})

const hangs: Provider = { name: "meta/google", search: () => Effect.never }

const hanging = services(
  Providers.layer({
    alpha_search: [hangs],
    beta_search: [],
    gamma_search: [],
    delta_search: [],
    epsilon_search: [],
    zeta_search: []
  }).pipe(Layer.provide([ProviderStates.layer, StandardSettings.layer]))
)
