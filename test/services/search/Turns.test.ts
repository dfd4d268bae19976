import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer, Result } from "effect"
import { Refusal } from "../../../src/domain/providers/Refusal.ts"
import { parseBulk } from "../../../src/domain/search/BulkRequest.ts"
import * as PacerMemory from "../../../src/layers/memory/PacerMemory.ts"
import * as Gate from "../../../src/layers/providers/Gate.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { defaultTurn, type Provider } from "../../../src/services/providers/Provider.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import { Providers } from "../../../src/services/providers/Providers.ts"
import { Bulk } from "../../../src/services/search/Bulk.ts"
import { Search } from "../../../src/services/search/Search.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { aCaller, aRequest, found, services } from "../../support/api/Services.ts"
import { advance } from "../../support/Time.ts"

interface Call {
  readonly query: string
  readonly at: number
}

/** A provider behind a gate that answers after `ms`, or as the query says: `never`, `spend`. Records its calls. */
const paced = (
  name: string,
  bounds: Parameters<typeof Gate.make>[1],
  calls: Array<Call>,
  ms = 100
): Effect.Effect<Provider> =>
  Effect.map(
    Gate.make(name, bounds),
    (gate): Provider => ({
      name,
      limits: gate,
      search: ({ query }, turn = defaultTurn) =>
        gate.run(
          Effect.gen(function* () {
            calls.push({ query, at: yield* Clock.currentTimeMillis })
            if (query === "never") return yield* Effect.never
            if (query.startsWith("spend")) return yield* new Refusal({ reason: "quota", message: "spent" })
            return yield* Effect.as(Effect.sleep(ms), found(1).rows)
          }),
          turn
        )
    })
  ).pipe(Effect.provide(PacerMemory.layer))

const withProviders = (...made: ReadonlyArray<Effect.Effect<Provider>>) => {
  const table = { beta_search: [], gamma_search: [], delta_search: [], epsilon_search: [], zeta_search: [] }
  return Effect.provide(
    services(
      Layer.unwrap(Effect.map(Effect.all(made), (alpha_search) => Providers.layer({ ...table, alpha_search }))).pipe(
        Layer.provide([ProviderStates.layer, StandardSettings.layer])
      )
    )
  )
}

const rows = (count: number, prefix = "row") =>
  Result.getOrThrow(parseBulk({ queries: Array.from({ length: count }, (_, index) => `${prefix} ${index}`) }))

/** Runs an effect while the clock moves, and returns its result. */
const passing = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>, seconds: number) {
  const fiber = yield* Effect.forkChild(effect)
  for (let step = 0; step < seconds * 10; step++) yield* advance(100)
  return yield* Fiber.join(fiber)
})

const codes = (results: ReadonlyArray<{ readonly status: string; readonly error?: string }>) =>
  Object.entries(Object.groupBy(results, (row) => row.error ?? row.status)).map(([code, rows]) => [code, rows?.length])

const usedBy = ({ account }: Effect.Success<ReturnType<typeof aCaller>>) =>
  Effect.flatMap(Ledger, (ledger) => Effect.map(ledger.allowance(account), ({ used }) => used))

describe("searches that wait for a provider's pace", () => {
  it.effect("R77: 50 rows at one a second are all answered within the batch's 60 seconds, never faster", () => {
    const calls: Array<Call> = []
    return Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "starter" })
      const { body, receipt } = yield* passing((yield* Bulk).run(caller.principal, rows(50)), 60)
      assert.deepStrictEqual(codes(body.results), [["ok", 50]])
      assert.strictEqual(receipt.creditsUsed, 50)
      assert.lengthOf(calls, 50)
      for (const [n, { at }] of calls.slice(1).entries()) assert.isAtLeast(at - (calls[n]?.at ?? at), 1_000)
    }).pipe(withProviders(paced("slow", { requestsPerSecond: 1 }, calls)))
  })

  it.effect("R77: rows that get no turn are upstream_timeout and free, the rest is charged", () => {
    const calls: Array<Call> = []
    return Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "starter" })
      const { body, receipt } = yield* passing((yield* Bulk).run(caller.principal, rows(10)), 61)
      assert.deepStrictEqual(codes(body.results), [
        ["ok", 6],
        ["upstream_timeout", 4]
      ])
      const late = body.results.find((row) => row.status === "error")
      assert.match(late?.status === "error" ? late.message : "", /not started and not charged/)
      assert.strictEqual(receipt.creditsUsed, 6)
      assert.strictEqual(yield* usedBy(caller), 6)
    }).pipe(withProviders(paced("slow", { requestsPerSecond: 0.1 }, calls)))
  })

  it.effect("R77: a row's own 15 seconds begin when it is sent", () => {
    const calls: Array<Call> = []
    return Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "starter" })
      const queries = ["row 0", "row 1", "never"]
      const startedAt = yield* Clock.currentTimeMillis
      const run = Effect.flatMap(
        (yield* Bulk).run(caller.principal, Result.getOrThrow(parseBulk({ queries }))),
        (served) => Effect.map(Clock.currentTimeMillis, (now) => ({ ...served, tookMs: now - startedAt }))
      )
      const { body, receipt, tookMs } = yield* passing(run, 60)
      assert.deepStrictEqual(codes(body.results), [
        ["ok", 2],
        ["upstream_timeout", 1]
      ])
      // Sent after two intervals of 10.1 seconds.
      assert.strictEqual(tookMs, 20_200 + 15_000)
      assert.strictEqual(receipt.creditsUsed, 3)
    }).pipe(withProviders(paced("slow", { requestsPerSecond: 0.1 }, calls)))
  })

  it.effect("R77: a single search waits for its turn within its 15 seconds", () => {
    const calls: Array<Call> = []
    return Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "starter" })
      const search = yield* Search
      const both = Effect.forEach(["a", "b", "c"], (query) => search.run(caller.principal, { ...aRequest, query }), {
        concurrency: "unbounded"
      })
      const settlements = yield* passing(both, 20)
      assert.deepStrictEqual(
        settlements.map(({ body, receipt }) => [
          Result.isSuccess(body) ? "ok" : body.failure._tag,
          receipt.creditsUsed
        ]),
        [
          ["ok", 1],
          ["ok", 1],
          ["upstream_error", 0]
        ]
      )
      assert.deepStrictEqual(
        calls.map(({ at }) => at),
        [0, 10_100]
      )
    }).pipe(withProviders(paced("slow", { requestsPerSecond: 0.1 }, calls)))
  })

  it.effect("R77: a turn that is more than two seconds off is left for a provider that can be asked at once", () => {
    const first: Array<Call> = []
    const second: Array<Call> = []
    return Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "starter" })
      const search = yield* Search
      const run = (query: string) => search.run(caller.principal, { ...aRequest, query })
      yield* passing(run("a"), 1)
      yield* passing(run("b"), 1)
      assert.deepStrictEqual([first.length, second.length], [1, 1])
      // The second one waits too, so the order of the list counts.
      yield* passing(run("c"), 10)
      assert.deepStrictEqual([first.length, second.length], [1, 2])
    }).pipe(
      withProviders(
        paced("first", { requestsPerSecond: 0.05 }, first),
        paced("second", { requestsPerSecond: 0.5 }, second)
      )
    )
  })

  it.effect("R77: another account's search waits for its fair share, not for the whole batch", () => {
    const calls: Array<Call> = []
    return Effect.gen(function* () {
      const [many, one] = [yield* aCaller({ plan: "business" }), yield* aCaller({ plan: "starter" })]
      const fiber = yield* Effect.forkChild((yield* Bulk).run(many.principal, rows(40)))
      yield* advance(5_000)
      const startedAt = yield* Clock.currentTimeMillis
      const { receipt } = yield* passing((yield* Search).run(one.principal, { ...aRequest, query: "mine" }), 5)
      assert.strictEqual(receipt.creditsUsed, 1)
      const mine = calls.find(({ query }) => query === "mine")
      assert.isAtMost((mine?.at ?? Number.POSITIVE_INFINITY) - startedAt, 2_200)
      yield* passing(Effect.void, 60)
      assert.deepStrictEqual(codes((yield* Fiber.join(fiber)).body.results), [["ok", 40]])
    }).pipe(withProviders(paced("slow", { requestsPerSecond: 1 }, calls)))
  })

  it.effect("R77: accounts share a provider's `concurrency` too", () => {
    const calls: Array<Call> = []
    return Effect.gen(function* () {
      const [many, one] = [yield* aCaller({ plan: "business" }), yield* aCaller({ plan: "starter" })]
      const fiber = yield* Effect.forkChild((yield* Bulk).run(many.principal, rows(20)))
      yield* advance(1_500)
      yield* passing((yield* Search).run(one.principal, { ...aRequest, query: "mine" }), 5)
      assert.isAtMost(
        calls.findIndex(({ query }) => query === "mine"),
        3
      )
      yield* passing(Effect.void, 30)
      yield* Fiber.join(fiber)
    }).pipe(withProviders(paced("narrow", { concurrency: 1 }, calls, 1_000)))
  })

  it.effect("R76: rows whose provider begins to cool down while they wait are not sent, and not charged", () => {
    const calls: Array<Call> = []
    return Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "starter" })
      const { body, receipt } = yield* passing((yield* Bulk).run(caller.principal, rows(10, "spend")), 60)
      assert.lengthOf(calls, 1)
      assert.deepInclude(body, { succeeded: 0, failed: 10 })
      assert.strictEqual(receipt.creditsUsed, 1)
    }).pipe(withProviders(paced("slow", { requestsPerSecond: 1 }, calls)))
  })
})
