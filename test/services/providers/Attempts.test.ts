import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { Refusal, type RefusalReason } from "../../../src/domain/providers/Refusal.ts"
import { parseBulk } from "../../../src/domain/search/BulkRequest.ts"
import type { Target } from "../../../src/domain/search/Target.ts"
import { QueryLog } from "../../../src/services/charging/QueryLog.ts"
import { Attempts } from "../../../src/services/providers/Attempts.ts"
import type { Provider } from "../../../src/services/providers/Provider.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import { Providers } from "../../../src/services/providers/Providers.ts"
import { Bulk } from "../../../src/services/search/Bulk.ts"
import { Search } from "../../../src/services/search/Search.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { aCaller, aRequest, found, services } from "../../support/api/Services.ts"
import { advance } from "../../support/Time.ts"

const hangs = (name: string): Provider => ({ name, search: () => Effect.never })

const refuses = (name: string, reason: RefusalReason, ms: number): Provider => ({
  name,
  search: () => Effect.delay(Effect.fail(new Refusal({ reason, message: "no" })), ms)
})

const answers = (name: string): Provider => ({ name, search: () => Effect.succeed(found(1).rows) })

const withProviders = (alpha: ReadonlyArray<Provider>, hedged = false) =>
  Effect.provide(
    services(
      Providers.layer({
        alpha_search: alpha,
        beta_search: [],
        gamma_search: [],
        delta_search: [],
        epsilon_search: [],
        zeta_search: [],
        ...(hedged ? { hedged: new Set<Target>(["alpha_search"]) } : {})
      }).pipe(Layer.provide([ProviderStates.layer, StandardSettings.layer]))
    )
  )

/** The refusals in the log after one search, which has a minute to end. */
const refusalsOfSearch = Effect.gen(function* () {
  const { account, principal } = yield* aCaller({ plan: "business" })
  const fiber = yield* Effect.forkChild((yield* Search).run(principal, aRequest))
  yield* advance("1 minute")
  yield* Fiber.join(fiber)
  const [entry] = yield* (yield* QueryLog).recent(account.id, 1)
  return entry?.refusals
})

describe("Attempts", () => {
  it.effect("a failed search's log entry has each refused attempt with its reason and time", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* refusalsOfSearch, [
        { provider: "slow", reason: "unreachable", ms: 2_000 },
        { provider: "gone", reason: "timeout", ms: 13_000 }
      ])
    }).pipe(withProviders([refuses("slow", "unreachable", 2_000), hangs("gone")]))
  )

  it.effect("an answered search's log entry has the refusals before the answer", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* refusalsOfSearch, [{ provider: "first", reason: "blocked", ms: 40 }])
    }).pipe(withProviders([refuses("first", "blocked", 40), answers("second")]))
  )

  it.effect("an answer at the first attempt has no refusals, and an overtaken attempt is none", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* refusalsOfSearch.pipe(withProviders([answers("first")])), [])
      assert.deepStrictEqual(yield* refusalsOfSearch.pipe(withProviders([hangs("first"), answers("second")], true)), [])
    })
  )

  it.effect("a failed search that was sent names the providers that it was not sent to", () =>
    Effect.gen(function* () {
      yield* refusalsOfSearch
      assert.deepStrictEqual(yield* refusalsOfSearch, [
        { provider: "broken", reason: "unreachable", ms: 0 },
        { provider: "poor", reason: "cool_down", ms: 0 },
        { provider: "small", reason: "unserved", ms: 0 }
      ])
    }).pipe(
      withProviders([
        refuses("poor", "quota", 0),
        refuses("broken", "unreachable", 0),
        {
          ...answers("small"),
          capabilities: { paging: { kind: "first", maxRows: 5 }, safe: ["off"], countries: "none", languages: "none" }
        }
      ])
    )
  )

  it.effect("a search that waits for the call of an identical one has the refusals of that", () =>
    Effect.gen(function* () {
      const { account, principal } = yield* aCaller({ plan: "business" })
      const fiber = yield* Effect.forkChild((yield* Search).run(principal, aRequest))
      yield* advance("1 second")
      const other = yield* Effect.forkChild((yield* Search).run(principal, aRequest))
      yield* advance("1 minute")
      yield* Effect.all([Fiber.join(fiber), Fiber.join(other)])
      const log = yield* (yield* QueryLog).recent(account.id, 2)
      const first = { provider: "first", reason: "blocked", ms: 3_000 } as const
      assert.deepStrictEqual(
        log.map(({ refusals }) => refusals),
        [[first], [first]]
      )
    }).pipe(withProviders([refuses("first", "blocked", 3_000), answers("second")]))
  )

  it.effect("a row that its batch's end cuts off has the reason of the attempt that still ran", () =>
    Effect.gen(function* () {
      const { account, principal } = yield* aCaller({ plan: "business" })
      const queries = Array.from({ length: 50 }, (_, n) => `row ${n}`)
      const rows = yield* Effect.orDie(Effect.fromResult(parseBulk({ queries })))
      const fiber = yield* Effect.forkChild((yield* Bulk).run(principal, rows))
      for (let n = 0; n < 61; n++) yield* advance("1 second")
      yield* Fiber.join(fiber)
      const log = yield* (yield* QueryLog).recent(account.id, 50)
      assert.deepStrictEqual(
        log.map(({ rowIndex }) => rowIndex).sort((a, b) => Number(a) - Number(b)),
        Array.from({ length: log.length }, (_, n) => n)
      )
      assert.deepStrictEqual(
        log.filter(({ rowIndex }) => rowIndex === 40).map(({ durationMs, refusals }) => ({ durationMs, refusals })),
        [{ durationMs: 10_000, refusals: [{ provider: "gone", reason: "cut_off", ms: 10_000 }] }]
      )
    }).pipe(
      // Ten rows run at once: they end at 5, 20, 35 and 50 seconds, and the last ten are cut off at 60.
      withProviders([
        {
          name: "gone",
          search: ({ query }) =>
            /^row .$/.test(query) ? Effect.delay(Effect.succeed(found(1).rows), "5 seconds") : Effect.never
        }
      ])
    )
  )

  it("an entry keeps eight refusals at most, and the beginning of a long name", () => {
    const attempts = new Attempts()
    for (let n = 0; n < 20; n++) attempts.start("x".repeat(100), n).end(n + 5, "busy")
    const refusals = attempts.refusals(true, 100)
    assert.strictEqual(refusals.length, 8)
    assert.deepStrictEqual(refusals[0], { provider: "x".repeat(64), reason: "busy", ms: 5 })
  })
})
