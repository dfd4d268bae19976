import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Fiber, Layer, Result } from "effect"
import { UpstreamError } from "../../../src/domain/errors.ts"
import { QueryLog } from "../../../src/services/charging/QueryLog.ts"
import { HoldExpired, Ledger } from "../../../src/services/credits/Ledger.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import { Providers } from "../../../src/services/providers/Providers.ts"
import { Search } from "../../../src/services/search/Search.ts"
import { TraceQueryText } from "../../../src/services/telemetry/Tracing.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { aCaller, aPrincipal, aRequest, type Caller, found, providing, services } from "../../support/api/Services.ts"
import { advance, settle } from "../../support/Time.ts"
import { traced } from "../../support/Traces.ts"

const state = Effect.fnUntraced(function* ({ account }: Caller) {
  const ledger = yield* Ledger
  const { used } = yield* ledger.allowance(account)
  const log = yield* Effect.flatMap(QueryLog, (queryLog) => queryLog.recent(account.id, 100))
  return { used, outcomes: log.map(({ outcome }) => outcome) }
})

describe("Search", () => {
  it.effect("I4: a target without a provider is upstream_error, not dispatched, not charged and not logged", () =>
    Effect.gen(function* () {
      const search = yield* Search
      const caller = yield* aCaller({ plan: "custom", quota: 0 })
      const { body, entry, receipt } = yield* search.run(caller.principal, aRequest)
      assert.strictEqual(Result.isFailure(body) && body.failure._tag, "upstream_error")
      assert.isUndefined(entry)
      assert.deepInclude(receipt, { creditsUsed: 0, balance: 0 })
      assert.deepStrictEqual(yield* state(caller), { used: 0, outcomes: [] })
    }).pipe(
      Effect.provide(
        services(
          Layer.mock(Providers, {
            search: () => Effect.die("dispatched"),
            check: () => Effect.succeed(new UpstreamError({ message: "no provider" })),
            labels: {},
            order: {}
          })
        )
      )
    )
  )

  it.effect("the last provider that its search's deadline cuts off is counted as a timeout of that provider", () =>
    Effect.gen(function* () {
      const search = yield* Search
      const { principal } = yield* aCaller({ plan: "business" })
      const fiber = yield* Effect.forkChild(search.run(principal, aRequest))
      yield* advance("15 seconds")
      yield* Fiber.join(fiber)
      const states = yield* (yield* ProviderStates).all
      assert.deepStrictEqual(
        states.map(({ lastRefusal, refusals }) => [lastRefusal?.reason, lastRefusal?.message, refusals]),
        [
          ["timeout", "no response in 7500 ms", 1],
          ["timeout", "no response in 7500 ms", 1]
        ]
      )
    }).pipe(
      Effect.provide(
        services(
          Providers.layer({
            alpha_search: [
              { name: "first", search: () => Effect.never },
              { name: "last", search: () => Effect.never }
            ],
            beta_search: [],
            gamma_search: [],
            delta_search: [],
            epsilon_search: [],
            zeta_search: []
          }).pipe(Layer.provide([ProviderStates.layer, StandardSettings.layer]))
        ).pipe(Layer.provideMerge(ProviderStates.layer))
      )
    )
  )

  it.effect("TRACE_QUERY_TEXT: the query is in one span if the operator allows it, and otherwise in none", () =>
    Effect.gen(function* () {
      const search = yield* Search
      const run = search.run(yield* aPrincipal, aRequest)
      const textsWith = (shown: boolean) =>
        Effect.map(traced(Effect.provideService(run, TraceQueryText, shown)), ({ spans }) =>
          spans
            .filter((span) => JSON.stringify([span.attributes, span.events]).includes(aRequest.query))
            .map(({ name }) => name)
        )
      assert.deepStrictEqual(yield* textsWith(false), [])
      assert.deepStrictEqual(yield* textsWith(true), ["Search.run"])
    }).pipe(Effect.provide(services(providing(() => Effect.succeed(found(1))))))
  )

  it.effect("answers at 14.999 s, and not after 15 s", () =>
    Effect.gen(function* () {
      const search = yield* Search
      const caller = yield* aCaller({ plan: "trial" })
      for (const [ms, ok] of [
        [14_999, true],
        [15_001, false]
      ] as const) {
        const startedAt = yield* Clock.currentTimeMillis
        const fiber = yield* Effect.forkChild(search.run(caller.principal, { ...aRequest, query: String(ms) }))
        yield* advance(14_999)
        yield* advance(1)
        const { body } = yield* Fiber.join(fiber)
        assert.strictEqual(Result.isSuccess(body), ok)
        assert.strictEqual((yield* Clock.currentTimeMillis) - startedAt, 15_000)
      }
    }).pipe(Effect.provide(services(providing(({ query }) => Effect.as(Effect.sleep(Number(query)), found(1))))))
  )

  it.effect("I4: a dispatched search completes even if its caller disconnects", () =>
    Effect.gen(function* () {
      const search = yield* Search
      const caller = yield* aCaller({ plan: "trial" })
      const fiber = yield* Effect.forkChild(search.run(caller.principal, aRequest))
      yield* advance("1 second")
      yield* Fiber.interrupt(fiber)
      yield* advance("5 seconds")
      assert.deepStrictEqual(yield* state(caller), { used: 1, outcomes: ["ok"] })
    }).pipe(Effect.provide(services(providing(() => Effect.as(Effect.sleep("3 seconds"), found(1))))))
  )

  it.effect("R29: the credit is taken before the search is dispatched", () =>
    Effect.gen(function* () {
      const search = yield* Search
      const caller = yield* aCaller({ plan: "trial" })
      const fiber = yield* Effect.forkChild(search.run(caller.principal, aRequest))
      yield* settle
      assert.deepStrictEqual(yield* state(caller), { used: 1, outcomes: [] })
      yield* advance("3 seconds")
      yield* Fiber.join(fiber)
    }).pipe(Effect.provide(services(providing(() => Effect.as(Effect.sleep("3 seconds"), found(1))))))
  )

  it.effect("a defect gives the credit back and logs nothing", () =>
    Effect.gen(function* () {
      const search = yield* Search
      const caller = yield* aCaller({ plan: "trial" })
      const exit = yield* Effect.exit(search.run(caller.principal, aRequest))
      assert.strictEqual(exit._tag, "Failure")
      assert.deepStrictEqual(yield* state(caller), { used: 0, outcomes: [] })
    }).pipe(Effect.provide(services(providing(() => Effect.die("boom")))))
  )

  it.effect("R15: identical searches in flight share one upstream call, and each is charged", () =>
    Effect.gen(function* () {
      let calls = 0
      const gate = yield* Deferred.make<void>()
      const counting = providing(() =>
        Effect.sync(() => calls++).pipe(Effect.andThen(Deferred.await(gate)), Effect.as(found(1)))
      )
      yield* Effect.gen(function* () {
        const search = yield* Search
        const caller = yield* aCaller({ plan: "trial" })
        const fibers = yield* Effect.forEach(Array(10), () => Effect.forkChild(search.run(caller.principal, aRequest)))
        yield* settle
        yield* Deferred.succeed(gate, undefined)
        const served = yield* Effect.forEach(fibers, Fiber.join)
        assert.strictEqual(calls, 1)
        assert.lengthOf(new Set(served.map(({ body }) => Result.getOrThrow(body).id)), 10)
        assert.strictEqual((yield* state(caller)).used, 10)
      }).pipe(Effect.provide(services(counting)))
    })
  )

  it.effect("I4: a hold that expired before it was settled is a defect, with nothing logged as charged", () =>
    Effect.gen(function* () {
      const search = yield* Search
      const { account, principal } = yield* aCaller({ plan: "trial" })
      const exit = yield* Effect.exit(search.run(principal, aRequest))
      assert.isTrue(Exit.hasDies(exit))
      assert.deepStrictEqual(yield* (yield* QueryLog).recent(account.id, 10), [])
    }).pipe(
      Effect.provide(
        services(
          providing(() => Effect.succeed(found(1))),
          undefined,
          Layer.effect(
            Ledger,
            Effect.map(Ledger, (ledger) =>
              Ledger.of({ ...ledger, settle: ({ id }) => Effect.fail(new HoldExpired({ holdId: id })) })
            )
          )
        )
      )
    )
  )
})
