import { assert, it } from "@effect/vitest"
import { Clock, Duration, Effect, Layer, Logger, Metric } from "effect"
import type { SqlClient } from "effect/sql"
import * as Migrations from "../../../../src/layers/sql/Migrations.ts"
import * as DatabaseClock from "../../../../src/layers/sql/store/DatabaseClock.ts"
import * as PostgresSql from "../../../../src/layers/sql/store/Postgres.ts"
import { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { KeyStore } from "../../../../src/services/keys/KeyStore.ts"
import { clockSkew } from "../../../../src/services/telemetry/Metrics.ts"
import * as StandardSettings from "../../../../src/testing/StandardSettings.ts"
import { discrepanciesOf, makeAccount, makeRecords } from "../../../support/api/searches.ts"
import { freshDatabase } from "../../../support/stores/Database.ts"
import { describeWithPostgres } from "../../../support/stores/Postgres.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"

const dayMs = 86_400_000

/** The machine's clock, wrong by so much. */
const wrongClock = Effect.map(Clock.Clock, (clock) => {
  const wrong = { byMs: 0 }
  const now = () => clock.currentTimeMillisUnsafe() + wrong.byMs
  const settable: Clock.Clock = Object.assign(Object.create(clock), {
    currentTimeMillisUnsafe: now,
    currentTimeMillis: Effect.sync(now)
  })
  return { clock: settable, wrong }
})

/** One replica of the stores that measures the database's clock. */
const replica = (database: Layer.Layer<SqlClient.SqlClient, unknown>) =>
  Layer.build(
    Layer.fresh(
      SqlStorage.replica(StandardSettings.plans, DatabaseClock.layer({ interval: Duration.millis(50) })).pipe(
        Layer.provideMerge(Migrations.layer),
        Layer.provideMerge(database)
      )
    )
  )

describeWithPostgres("a replica whose clock is wrong", () => {
  it.live("R55: changes nobody's period, and writes the database's time, ten days ahead or behind", () =>
    Effect.gen(function* () {
      const { url } = yield* freshDatabase
      const database = PostgresSql.layer({ url, poolSize: 4 })
      const { clock, wrong } = yield* wrongClock
      const right = yield* replica(database)
      for (const days of [10, -10]) {
        wrong.byMs = days * dayMs
        const other = yield* Effect.provideService(replica(database), Clock.Clock, clock)
        const on = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
          effect.pipe(Effect.provide(other), Effect.provideService(Clock.Clock, clock))
        yield* Effect.gen(function* () {
          // The cycle ends in five days, within the error of the other clock.
          const cycleStart = Date.now() - 25 * dayMs
          const account = yield* makeAccount({ plan: "starter", cycleStart })
          const spend = Effect.gen(function* () {
            const ledger = yield* Ledger
            yield* ledger.settle(yield* ledger.reserve(account, 1), yield* makeRecords(account, 1))
            const { periodStart, used } = yield* ledger.allowance(account)
            return { periodStart, used }
          })
          const first = yield* spend
          assert.deepStrictEqual(yield* on(spend), { periodStart: first.periodStart, used: 2 })
          yield* on(Effect.flatMap(Accounts, (accounts) => accounts.setPlan(account.id, { plan: "growth" })))
          assert.deepStrictEqual(yield* spend, { periodStart: first.periodStart, used: 3 })
          const made = yield* on(makeAccount({ plan: "starter" }))
          assert.closeTo(made.createdAt, Date.now(), 60_000)
          const allowance = yield* on(Effect.flatMap(Ledger, (ledger) => ledger.allowance(made)))
          assert.isBelow(allowance.periodStart ?? 0, Date.now())
          assert.isAbove(allowance.resetsAt ?? 0, Date.now())
          const { key, secret } = yield* on(
            Effect.flatMap(KeyStore, (keys) => keys.create(account.id, { label: "CI", mode: "live" }))
          )
          assert.closeTo(key.createdAt, Date.now(), 60_000)
          yield* on(Effect.flatMap(KeyStore, (keys) => keys.authenticate(secret)))
          const revoked = yield* on(Effect.flatMap(KeyStore, (keys) => keys.revoke(key.id)))
          assert.closeTo(revoked.revokedAt ?? 0, Date.now(), 60_000)
          const day = new Date().getUTCDate()
          const budget = { credits: 2, period: "day" } as const
          const bound = yield* Effect.flatMap(KeyStore, (keys) =>
            keys.create(account.id, { label: "CI", mode: "live", bounds: { budget } })
          )
          const spendOfBudget = Effect.flatMap(Ledger, (ledger) => ledger.reserve(account, 1, { own: bound.key.id }))
          yield* on(spendOfBudget)
          yield* spendOfBudget
          const shown = yield* on(Effect.flatMap(KeyStore, (keys) => keys.bind(bound.key.id, {})))
          // Midnight would begin another day of the budget.
          if (new Date().getUTCDate() === day) assert.strictEqual(shown.spending?.credits, 2)
          assert.closeTo(shown.spending?.resetsAt ?? 0, Date.now() + dayMs / 2, dayMs / 2 + 60_000)
          assert.deepStrictEqual(yield* discrepanciesOf(account), [])
        }).pipe(Effect.provide(right))
      }
    }).pipe(Effect.scoped)
  )

  it.live("R55: a skew of more than five seconds is measured, and logged once when it begins and when it ends", () =>
    Effect.gen(function* () {
      const { url } = yield* freshDatabase
      const { clock, wrong } = yield* wrongClock
      const lines: Array<string> = []
      const logger = Logger.make(({ logLevel, message }) => void lines.push(`${logLevel} ${message}`))
      const until = (count: number) => Effect.repeat(Effect.sleep("20 millis"), { until: () => lines.length >= count })
      yield* Effect.gen(function* () {
        yield* replica(PostgresSql.layer({ url, poolSize: 2 }))
        assert.deepStrictEqual(lines, [])
        wrong.byMs = 10 * dayMs
        yield* until(1)
        assert.closeTo((yield* Metric.value(clockSkew.of())).value, (10 * dayMs) / 1000, 5)
        wrong.byMs = 3_000
        yield* until(2)
        assert.closeTo((yield* Metric.value(clockSkew.of())).value, 3, 2)
        wrong.byMs = -60_000
        yield* until(3)
      }).pipe(
        Effect.provideService(Clock.Clock, clock),
        Effect.provide(Logger.layer([logger])),
        Effect.provideServiceEffect(
          Metric.MetricRegistry,
          Effect.sync(() => new Map())
        )
      )
      assert.deepStrictEqual(lines, [
        "Warn This machine's clock is 10d ahead of the database's, which periods use. Correct this machine's clock.",
        "Info This machine's clock agrees with the database's again.",
        "Warn This machine's clock is 1m behind the database's, which periods use. Correct this machine's clock."
      ])
    }).pipe(Effect.scoped)
  )
})
