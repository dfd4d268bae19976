import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Duration, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Account } from "../../../../src/domain/accounts/Account.ts"
import { books, discrepancyRows } from "../../../../src/layers/sql/credits/Verification.ts"
import * as LogMaintenance from "../../../../src/layers/sql/operations/LogMaintenance.ts"
import * as PostgresSql from "../../../../src/layers/sql/store/Postgres.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { makeAccount, makeRecord, makeRecords } from "../../../support/api/searches.ts"
import { freshDatabase } from "../../../support/stores/Database.ts"
import * as EmbeddedDatabase from "../../../support/stores/EmbeddedDatabase.ts"
import * as Postgres from "../../../support/stores/Postgres.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"

const charge = Effect.fnUntraced(function* (account: Account, credits = 1) {
  const ledger = yield* Ledger
  const hold = yield* ledger.reserve(account, credits)
  yield* ledger.settle(hold, yield* makeRecords(account, credits))
  return hold.id
})

/** Changes entries behind the back of the trigger that forbids it. */
const tamper = Effect.fnUntraced(function* (
  change: (sql: SqlClient.SqlClient) => Effect.Effect<unknown, SqlError.SqlError>
) {
  const sql = yield* SqlClient.SqlClient
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`alter table ledger_entries disable trigger ledger_entries_append_only`
      yield* change(sql)
      yield* sql`alter table ledger_entries enable trigger ledger_entries_append_only`
    })
  )
})

/** Makes all that has happened to an account so far older, in the ledger and in the log. */
const age = Effect.fnUntraced(function* (accountId: string, days: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`select queries_make_partitions(clock_timestamp() - ${days} * interval '1 day', 2)`
  yield* sql`update queries set created_at = created_at - ${days} * interval '1 day' where account_id = ${accountId}`
  yield* tamper(
    (sql) => sql`
      update ledger_entries set created_at = created_at - ${days} * interval '1 day' where account_id = ${accountId}`
  )
})

type Found = ReadonlyArray<readonly [what: string, expected: number, found: number]>

const verifyBy = (how: "verify" | "verifyFully") => (account: Account) =>
  Effect.flatMap(Ledger, (ledger) =>
    Effect.map(ledger[how], (all) =>
      all
        .filter(({ accountId }) => accountId === account.id)
        .map(({ expected, found, what }): Found[number] => [what, expected, found])
    )
  )
const verified = verifyBy("verify")
const fullyVerified = verifyBy("verifyFully")

/** An account whose entries of three months are closed, and that has one entry more. */
const closedAccount = Effect.gen(function* () {
  const account = yield* makeAccount({ plan: "custom", quota: 100 }, 7)
  const holds = [yield* charge(account, 2)]
  yield* age(account.id, 40)
  holds.push(yield* charge(account, 3))
  yield* age(account.id, 40)
  holds.push(yield* charge(account))
  assert.deepStrictEqual(yield* verified(account), [])
  holds.push(yield* charge(account, 4))
  return { account, holds }
})

/** The statements of an account's closed months, beside the sums of its entries. */
const months = Effect.fnUntraced(function* (accountId: string) {
  const sql = yield* SqlClient.SqlClient
  const closed = yield* sql`
    select month::text, sum(entries)::int as entries, sum(quota_credits)::int as quota, sum(balance_credits)::int as balance
    from ledger_months where account_id = ${accountId} group by 1 order by 1`
  const entered = yield* sql`
    select date_trunc('month', created_at at time zone 'utc')::date::text as month, count(*)::int as entries,
      sum(quota_credits)::int as quota, sum(balance_credits)::int as balance
    from ledger_entries where account_id = ${accountId} group by 1 order by 1`
  return { closed, entered }
})

const faults: ReadonlyArray<
  readonly [
    name: string,
    fault: (sql: SqlClient.SqlClient, accountId: string, holdId: string) => Effect.Effect<unknown, SqlError.SqlError>,
    found: Found,
    fullyFound?: Found
  ]
> = [
  [
    "a changed quota",
    (sql, id) => sql`update allowances set used = used + 1 where scope = ${id}`,
    [["credits used of the quota", 10, 11]]
  ],
  [
    "a changed pack balance",
    (sql, id) => sql`update wallets set balance = balance - 1 where account_id = ${id}`,
    [["pack balance", 7, 6]]
  ],
  [
    "a closed search that the log has lost",
    (sql, _, holdId) => sql`
      delete from queries where id = (select min(id) from queries where hold_id = ${holdId})`,
    [["credits in the query log", 2, 1]]
  ],
  [
    "a changed text of a closed entry",
    (sql, id) => sql`update ledger_entries set reason = 'forged' where account_id = ${id} and kind = 'grant'`,
    // A run that reads one month again knows of that month alone.
    [["closed months of the ledger", 2, 1]],
    [["closed months of the ledger", 4, 3]]
  ]
]

const suite = <E>(name: string, database: Layer.Layer<SqlClient.SqlClient, E>) => {
  layer(SqlStorage.layer(database), { excludeTestServices: true, timeout: "60 seconds" })(name, (it) => {
    it.effect("I2, I6: closes what it has compared, by month, and later reads what came since", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { account } = yield* closedAccount
        const before = yield* months(account.id)
        assert.lengthOf(before.closed, 3)
        assert.deepStrictEqual(yield* verified(account), [])
        const after = yield* months(account.id)
        assert.deepStrictEqual(after.closed, after.entered)
        assert.notDeepEqual(after.closed, before.closed)

        // Entries of months ago are not read: without them the comparison is the same, and only a full one misses them.
        yield* tamper(
          (sql) => sql`
            delete from ledger_entries where account_id = ${account.id} and created_at < now() - interval '30 days'`
        )
        const found = yield* discrepancyRows(books(sql, { only: account.id }, false))
        assert.deepStrictEqual(found, [])
        assert.deepInclude(yield* fullyVerified(account), ["closed months of the ledger", 4, 1])
      })
    )

    it.effect.each(faults)(
      "I1, I2: finds %s, again in each run until it is repaired",
      ([, fault, expected, fullyExpected = expected]) =>
        Effect.gen(function* () {
          const { account, holds } = yield* closedAccount
          yield* tamper((sql) => fault(sql, account.id, holds[0] ?? ""))
          assert.deepStrictEqual<Found>(yield* verified(account), expected)
          assert.deepStrictEqual<Found>(yield* verified(account), expected)
          assert.deepStrictEqual<Found>(yield* fullyVerified(account), fullyExpected)
          yield* (yield* Ledger).repair({ accountId: account.id, keep: "entries", reason: "a test", by: "ann" })
          assert.deepStrictEqual(yield* verified(account), [])
          assert.deepStrictEqual(yield* verified(account), [])
          assert.deepStrictEqual(yield* fullyVerified(account), [])
          const { closed, entered } = yield* months(account.id)
          assert.deepStrictEqual(closed, entered)
        })
    )

    it.effect("I6: finds a closed entry that is gone with all that it did", () =>
      Effect.gen(function* () {
        const { account, holds } = yield* closedAccount
        yield* tamper((sql) =>
          Effect.all([
            sql`delete from ledger_entries where cause = ${holds[0] ?? ""}`,
            sql`delete from queries where hold_id = ${holds[0] ?? ""}`,
            sql`update allowances set used = used - 2 where scope = ${account.id}`
          ])
        )
        const found = yield* verified(account)
        assert.deepInclude(found, ["closed months of the ledger", 2, 1])
        assert.deepInclude(found, ["credits used of the quota", 10, 8])
        assert.deepStrictEqual(yield* fullyVerified(account), [["closed months of the ledger", 4, 3]])
      })
    )

    it.effect("closes nothing of an account while something of it does not add up", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const account = yield* makeAccount({ plan: "custom", quota: 100 })
        const hold = yield* charge(account, 3)
        yield* sql`delete from queries where hold_id = ${hold}`
        assert.deepStrictEqual(yield* verified(account), [["credits in the query log", 3, 0]])
        yield* charge(account)
        assert.deepStrictEqual(yield* verified(account), [["credits in the query log", 3, 0]])
        assert.deepStrictEqual((yield* months(account.id)).closed, [])
        yield* (yield* Ledger).repair({ accountId: account.id, keep: "entries", reason: "lost", by: "ann" })
        assert.deepStrictEqual(yield* verified(account), [])
        const { closed, entered } = yield* months(account.id)
        assert.deepStrictEqual(closed, entered)
      })
    )

    it.effect("a charge that is logged in the next month belongs to the month of its entry", () =>
      Effect.gen(function* () {
        const account = yield* makeAccount({ plan: "custom", quota: 100 })
        yield* charge(account, 2)
        yield* age(account.id, 70)
        const sql = yield* SqlClient.SqlClient
        const midnight = "date_trunc('month', now() - interval '40 days', 'UTC')"
        yield* sql`update queries set created_at = ${sql.literal(midnight)} + interval '20 ms' where account_id = ${account.id}`
        yield* tamper(
          (sql) => sql`
            update ledger_entries set created_at = ${sql.literal(midnight)} - interval '20 ms'
            where account_id = ${account.id}`
        )
        for (let run = 0; run < 3; run++) assert.deepStrictEqual(yield* verified(account), [])
        assert.deepStrictEqual(yield* fullyVerified(account), [])
      })
    )

    it.effect("an entry from a time in which the database's clock was set back is not lost", () =>
      Effect.gen(function* () {
        const account = yield* makeAccount({ plan: "custom", quota: 100 })
        yield* charge(account, 2)
        assert.deepStrictEqual(yield* verified(account), [])
        const late = yield* charge(account, 5)
        const sql = yield* SqlClient.SqlClient
        yield* sql`update queries set created_at = created_at - interval '20 hours' where hold_id = ${late}`
        yield* tamper(
          (sql) => sql`update ledger_entries set created_at = created_at - interval '20 hours' where cause = ${late}`
        )
        assert.deepStrictEqual(yield* verified(account), [])
        const { closed, entered } = yield* months(account.id)
        assert.deepStrictEqual(closed, entered)
      })
    )

    it.effect("months that the log has dropped stay closed with what was charged", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { account } = yield* closedAccount
        const { closed } = yield* months(account.id)
        yield* sql`update log_upkeep set retention_ms = ${45 * 86_400_000}`
        yield* LogMaintenance.dropMonths(sql)
        assert.deepStrictEqual(yield* verified(account), [])
        assert.deepStrictEqual(yield* verified(account), [])
        assert.deepStrictEqual(yield* fullyVerified(account), [])
        assert.deepStrictEqual((yield* months(account.id)).closed.slice(0, 2), closed.slice(0, 2))
      })
    )

    it.effect("R32: the trial of an address is right over accounts that used it one after the other", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const ledger = yield* Ledger
        const account = yield* makeAccount({ plan: "trial" })
        const heir = { ...account, id: `${account.id}_heir` }
        const found = (how: "verify" | "verifyFully") =>
          Effect.map(ledger[how], (all) =>
            all
              .filter(({ accountId }) => [account.id, heir.id].includes(accountId))
              .map(({ expected, found, what }) => [what, expected, found])
          )
        yield* charge(account, 2)
        assert.deepStrictEqual(yield* found("verify"), [])
        yield* sql`
          insert into accounts (id, email, plan, concurrency, allowance_id, created_at)
          select ${heir.id}, '', plan, concurrency, allowance_id, now() from accounts where id = ${account.id}`
        yield* sql`insert into wallets (account_id) values (${heir.id})`
        yield* charge(heir, 3)
        assert.deepStrictEqual(yield* found("verify"), [])
        yield* charge(account)
        assert.deepStrictEqual(yield* found("verify"), [])
        assert.deepStrictEqual(yield* found("verifyFully"), [])
        yield* sql`
          update allowances set used = used + 1 where id = (select allowance_id from accounts where id = ${heir.id})`
        assert.deepStrictEqual(yield* found("verify"), [["credits used of the quota", 6, 7]])
      })
    )
  })
}

describe("closed months of the ledger", () => {
  suite("on the embedded database", EmbeddedDatabase.layer)
})

Postgres.describeWithPostgres("closed months of the ledger on Postgres", () => {
  suite("on a server", Postgres.layer)

  it.live("I2: verifications at once, beside searches of two replicas, close each entry once", () =>
    Effect.gen(function* () {
      const { url } = yield* freshDatabase
      // The machine may be busy: this is about what is closed, not about how fast.
      const database = PostgresSql.layer({ url, poolSize: 6, statementTimeout: Duration.minutes(1) })
      const build = Layer.build(SqlStorage.layer(database).pipe(Layer.fresh))
      const [one, other] = [yield* build, yield* build]
      yield* Effect.gen(function* () {
        const ledger = yield* Ledger
        const accounts = yield* Effect.forEach(Array.from({ length: 5 }), () =>
          makeAccount({ plan: "custom", quota: 10_000 }, 50)
        )
        const search = Effect.fnUntraced(function* (index: number) {
          const account = accounts[index % accounts.length] ?? assert.fail("there are accounts")
          const mine = yield* Ledger
          const hold = yield* mine.reserve(account, 3)
          if (index % 3 === 0) yield* mine.settlePart(hold, yield* makeRecord(account))
          yield* mine.settle(hold, yield* makeRecords(account, index % 3))
        })
        const searches = Effect.forEach(
          Array.from({ length: 300 }, (_, index) => index),
          (index) => Effect.provide(search(index), index % 2 === 0 ? one : other),
          { concurrency: 16, discard: true }
        )
        const verifications = Effect.forEach(
          [one, other, one, other],
          (replica) =>
            Effect.provide(
              Effect.flatMap(Ledger, ({ verify }) => verify),
              replica
            ),
          { concurrency: 4 }
        )
        const [, found] = yield* Effect.all([searches, verifications], { concurrency: 2 })
        assert.deepStrictEqual(found.flat(), [])
        assert.deepStrictEqual(yield* ledger.verify, [])
        assert.deepStrictEqual(yield* ledger.verifyFully, [])
        for (const { id } of accounts) {
          const { closed, entered } = yield* months(id)
          assert.deepStrictEqual(closed, entered)
        }
      }).pipe(Effect.provide(Context.merge(one, one)))
    })
  )
})
