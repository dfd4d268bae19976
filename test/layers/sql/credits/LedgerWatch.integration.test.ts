import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Duration, Effect, Layer, Metric } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as LedgerWatch from "../../../../src/layers/sql/credits/LedgerWatch.ts"
import { newestDiscrepancies } from "../../../../src/layers/sql/credits/Verification.ts"
import * as VerificationRuns from "../../../../src/layers/sql/credits/VerificationRuns.ts"
import { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import {
  holdsOpen,
  holdsOverdue,
  ledgerChecks,
  ledgerDiscrepancies,
  ledgerProblems,
  ledgerVerifiedAt
} from "../../../../src/services/telemetry/Metrics.ts"
import { makeAccount, makeRecords } from "../../../support/api/searches.ts"
import { Backdoor } from "../../../support/stores/Backdoor.ts"
import * as EmbeddedDatabase from "../../../support/stores/EmbeddedDatabase.ts"
import * as Postgres from "../../../support/stores/Postgres.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"

const found = Effect.flatMap(SqlClient.SqlClient, newestDiscrepancies)

/** An account with a charged search and a running search. */
const searched = Effect.gen(function* () {
  const account = yield* makeAccount({ plan: "custom", quota: 100 }, 5)
  const ledger = yield* Ledger
  yield* ledger.settle(yield* ledger.reserve(account, 3), yield* makeRecords(account, 2))
  yield* ledger.reserve(account, 4)
  return account
})

const embedded = EmbeddedDatabase.layer

const suite = <E>(name: string, database: Layer.Layer<SqlClient.SqlClient, E>) => {
  layer(SqlStorage.layer(database))(name, (it) => {
    it.effect("I2: agrees with books that are right, while searches run", () =>
      Effect.gen(function* () {
        yield* searched
        assert.deepStrictEqual(yield* found, [])
      })
    )

    it.effect("I1, I2: finds what was changed of the quota and what the log has lost", () =>
      Effect.gen(function* () {
        const account = yield* searched
        const backdoor = yield* Backdoor
        yield* backdoor.damage(account.id, "allowance")
        yield* backdoor.damage(account.id, "log")
        assert.sameDeepMembers(
          [...((yield* found) ?? [])],
          [
            { accountId: account.id, what: "credits used of the quota", expected: 6, found: 7 },
            { accountId: account.id, what: "credits in the query log", expected: 2, found: 1 }
          ]
        )
      })
    )

    it.effect("I1: finds a changed pack balance, and a changed quota of more credits than it sums up in one look", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const ledger = yield* Ledger
        const account = yield* makeAccount({ plan: "custom", quota: 10_000_000 }, 5)
        // One entry for a long life: without a checkpoint nobody would sum it up every minute.
        yield* ledger.adjust({ accountId: account.id, credits: -5_000_000, to: "quota", reason: "a test", by: "ann" })
        yield* ledger.verify
        yield* ledger.settle(yield* ledger.reserve(account, 3), yield* makeRecords(account, 2))
        yield* ledger.reserve(account, 4)
        const mine = Effect.map(found, (all) => (all ?? []).filter(({ accountId }) => accountId === account.id))
        assert.deepStrictEqual(yield* mine, [])
        yield* sql`update wallets set balance = balance + 1 where account_id = ${account.id}`
        yield* sql`update allowances set used = used - 1 where scope = ${account.id}`
        assert.sameDeepMembers(
          [...(yield* mine)],
          [
            { accountId: account.id, what: "credits used of the quota", expected: 5_000_006, found: 5_000_005 },
            { accountId: account.id, what: "pack balance", expected: 5, found: 6 }
          ]
        )
      })
    )

    it.effect("agrees after a repair of a charge that the log has lost", () =>
      Effect.gen(function* () {
        const account = yield* searched
        const mine = Effect.map(found, (all) => (all ?? []).filter(({ accountId }) => accountId === account.id))
        yield* (yield* Backdoor).damage(account.id, "log")
        assert.strictEqual((yield* mine).length, 1)
        yield* (yield* Ledger).repair({ accountId: account.id, keep: "entries", reason: "lost", by: "ann" })
        assert.deepStrictEqual(yield* mine, [])
      })
    )

    it.effect("verifies more accounts than one range has, and a trial whose account is gone", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const ledger = yield* Ledger
        const account = yield* makeAccount({ plan: "trial" })
        yield* ledger.settle(yield* ledger.reserve(account, 2), yield* makeRecords(account, 2))
        yield* (yield* Accounts).remove(account.id)
        yield* sql`update accounts set allowance_id = null where id = ${account.id}`
        yield* sql`
          insert into accounts (id, email, plan, concurrency, created_at)
          select 'acc_many_' || n, '', 'growth', 1, now() from generate_series(1, 2500) as n`
        yield* sql`insert into wallets (account_id) select id from accounts where id like 'acc_many_%'`
        yield* sql`update wallets set balance = 1 where account_id in ('acc_many_1', 'acc_many_2500')`
        yield* sql`
          update allowances set used = 1
          where id = (select max(allowance_id) from ledger_entries where account_id = ${account.id})`
        const verified = yield* ledger.verify
        const wrong = verified.filter(({ accountId }) => /^(acc_many|trial)/.test(accountId))
        assert.deepStrictEqual(
          wrong.map(({ expected, found, what }) => [what, expected, found]),
          [
            ["pack balance", 0, 1],
            ["pack balance", 0, 1],
            ["credits used of the quota", 2, 1]
          ]
        )
        for (const { accountId } of wrong) {
          yield* ledger.repair({ accountId, keep: "entries", reason: "changed by hand", by: "ann" })
        }
        const again = yield* ledger.verify
        assert.deepStrictEqual(
          again.filter(({ accountId }) => /^(acc_many|trial)/.test(accountId)),
          []
        )
      })
    )
  })
}

describe("LedgerWatch", () => {
  suite("on the embedded database", embedded)

  // On a server the test's clock would run out of each statement's time.
  layer(SqlStorage.layer(embedded))("as it runs", (it) => {
    it.effect("shows in metrics what it finds and how many holds there are, and goes on", () =>
      Effect.gen(function* () {
        const account = yield* searched
        yield* (yield* Backdoor).expireHolds(account.id)
        yield* (yield* Backdoor).damage(account.id, "allowance")
        yield* Layer.build(LedgerWatch.layer)
        const looked = (checks: number) =>
          TestClock.adjust(Duration.minutes(1)).pipe(
            Effect.andThen(Metric.value(ledgerChecks.of("discrepancies"))),
            Effect.repeat({ until: ({ count }) => count >= checks })
          )
        yield* looked(2)
        yield* TestClock.adjust(Duration.minutes(1)).pipe(
          Effect.andThen(Metric.value(ledgerVerifiedAt.of())),
          Effect.repeat({ until: ({ value }) => value > 0 })
        )
        assert.isAtLeast((yield* Metric.value(ledgerProblems.of("quota"))).value, 1)
        assert.isAtLeast((yield* Metric.value(ledgerDiscrepancies.of("quota"))).value, 1)
        assert.isAtLeast((yield* Metric.value(holdsOpen.of())).value, 1)
        assert.isAtLeast((yield* Metric.value(holdsOverdue.of())).value, 1)
      }).pipe(
        Effect.provideServiceEffect(
          Metric.MetricRegistry,
          Effect.sync(() => new Map())
        )
      )
    )
  })
})

Postgres.describeWithPostgres("LedgerWatch on Postgres", () => {
  suite("on a server", Postgres.layer)

  it.effect("a night's run is made by one replica, and by another when the first is gone", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const taken = yield* Effect.all(
        Array.from({ length: 4 }, () => VerificationRuns.takeNight(sql)),
        { concurrency: "unbounded" }
      )
      const [first, ...others] = taken.filter((it) => it !== undefined)
      assert.deepStrictEqual(others, [])
      yield* sql`update ledger_verifications set lease_until = clock_timestamp() - interval '1 second'`
      const second = yield* VerificationRuns.takeNight(sql)
      assert.deepStrictEqual(second, first)
      assert.isUndefined(yield* VerificationRuns.takeNight(sql))
      assert.isUndefined(yield* VerificationRuns.readLast(sql))
      yield* makeAccount({ plan: "growth" })
      yield* VerificationRuns.verify(sql, { isFull: false, ...(second && { night: second.id }) })
      assert.isUndefined(yield* VerificationRuns.takeNight(sql))
      assert.deepInclude(yield* VerificationRuns.readLast(sql), { accounts: 1n, balance_problems: 0n })
    }).pipe(Effect.provide(SqlStorage.layer(Postgres.layer)))
  )

  it.effect("leaves a look to the replica that is looking", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const lock = sql`select pg_advisory_xact_lock(hashtext('quarry_newest_discrepancies'))`
      const looking = yield* Deferred.make<void>()
      const seen = yield* Deferred.make<void>()
      const first = Effect.andThen(lock, Effect.andThen(Deferred.succeed(looking, undefined), Deferred.await(seen)))
      yield* Effect.forkChild(sql.withTransaction(first))
      yield* Deferred.await(looking)
      assert.isUndefined(yield* found)
      yield* Deferred.succeed(seen, undefined)
    }).pipe(Effect.provide(SqlStorage.layer(Postgres.layer)))
  )
})
