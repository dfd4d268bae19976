import { assert, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Redacted, Result } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as Ids from "../../../../src/layers/Ids.ts"
import * as KeyStoreSql from "../../../../src/layers/sql/keys/KeyStoreSql.ts"
import * as Migrations from "../../../../src/layers/sql/Migrations.ts"
import * as PostgresSql from "../../../../src/layers/sql/store/Postgres.ts"
import { QueryLog } from "../../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { KeyStore } from "../../../../src/services/keys/KeyStore.ts"
import { singleKeyring } from "../../../../src/services/operations/Keyrings.ts"
import { makeAccount, makeRecord, makeRecords } from "../../../support/api/searches.ts"
import { Backdoor } from "../../../support/stores/Backdoor.ts"
import { freshDatabase } from "../../../support/stores/Database.ts"
import { describeWithPostgres } from "../../../support/stores/Postgres.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"
import { isGate } from "../../../support/wholeStackRuns.ts"

/** Verifications while 50 callers search. */
const verifications = isGate ? 40 : 5

/** Replicas on one new database, each with its own pool. */
const replicas = Effect.fnUntraced(function* (count: number, concurrency: number) {
  const { url } = yield* freshDatabase
  const build = Layer.build(SqlStorage.layer(PostgresSql.layer({ url, poolSize: 4 })).pipe(Layer.fresh))
  return yield* Effect.all(
    Array.from({ length: count }, () => build),
    { concurrency }
  )
})

/** One after the other: a migration that waits too long retries by a clock that no test moves. */
const two = Effect.flatMap(replicas(2, 1), ([one, other]) =>
  one === undefined || other === undefined ? Effect.die("two were asked for") : Effect.succeed([one, other] as const)
)

/** Rows of other accounts in every table that ledger functions read. */
const fillLedger = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const numbers = sql`generate_series(1, 3000) as n`
  yield* sql`
    insert into accounts (id, email, plan, concurrency, created_at) select 'acc_' || n, '', 'growth', 1, now() from ${numbers}`
  yield* sql`insert into wallets (account_id) select 'acc_' || n from ${numbers}`
  yield* sql`insert into allowances (scope, period_start) select 'acc_' || n, now() from ${numbers}`
  yield* sql`
    insert into holds (id, account_id, allowance_id, from_quota, from_balance, expires_at, replica_id)
    select 'hld_' || n, 'acc_' || n, n, 1, 0, now() + interval '1 hour', 'rep_' || n from ${numbers}`
  yield* sql`
    insert into key_bounds (origin_id, budget_credits, budget_period) select 'key_' || n, 1, 'month' from ${numbers}`
  yield* sql`insert into key_spending (origin_id, period, period_start) select 'key_' || n, 'month', now() from ${numbers}`
  yield* sql`
    insert into ledger_entries (account_id, kind, quota_credits, balance_credits, cause)
    select 'acc_' || n, 'search', 0, 0, 'other' || n from ${numbers}`
  yield* sql`
    insert into idempotency_keys (slot, account_id, route, key, fingerprint, hold_id, created_at)
    select n % 3, 'acc_' || n, 'query', 'k' || n, '', 'hld_' || n, now() from ${numbers}`
})

/** Rows and index entries that this connection has read of each table until now. */
const rowsRead = (sql: SqlClient.SqlClient) => {
  const read = sql<{ readonly name: string; readonly rows: number }>`
    select pg_stat_force_next_flush(), relname::text as name,
      (seq_tup_read + coalesce(idx_tup_fetch, 0) + (
        select coalesce(sum(idx_tup_read), 0) from pg_stat_user_indexes i where i.relid = t.relid
      ))::int as rows
    from pg_stat_user_tables t`
  return Effect.map(Effect.andThen(read, read), (rows) => rows.map(({ name, rows }) => [name, rows] as const))
}

describeWithPostgres("LedgerSql with several replicas", () => {
  it.effect(
    "repairs write behind the wallet's lock, so that entries of one account are in the order of their ids",
    () =>
      Effect.gen(function* () {
        const [one, other] = yield* two
        const account = yield* Effect.provide(makeAccount({ plan: "starter" }, 5), one)
        yield* Effect.provide(
          Effect.flatMap(Backdoor, (backdoor) => backdoor.damage(account.id, "balance")),
          one
        )
        const repair = Effect.flatMap(Ledger, (ledger) =>
          ledger.repair({ accountId: account.id, keep: "figures", reason: "counted by hand", by: "ann" })
        )
        const sql = Context.get(one, SqlClient.SqlClient)
        const repairing = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`select from wallets where account_id = ${account.id} for update`
            const fiber = yield* Effect.forkChild(Effect.provide(repair, other), { startImmediately: true })
            yield* Effect.repeat(
              sql<{ readonly waiting: boolean }>`
              select exists (
                select from pg_locks where transactionid = pg_current_xact_id()::xid and not granted
              ) as waiting`,
              { until: ([row]) => row?.waiting === true || fiber.pollUnsafe() !== undefined }
            )
            assert.isUndefined(fiber.pollUnsafe())
            return fiber
          })
        )
        assert.lengthOf(yield* Fiber.join(repairing), 1)
        assert.deepStrictEqual(
          yield* Effect.provide(
            Effect.flatMap(Ledger, ({ verify }) => verify),
            one
          ),
          []
        )
      })
  )

  it.effect("replicas that start at once migrate a new database once", () =>
    Effect.gen(function* () {
      const contexts = yield* TestClock.withLive(replicas(4, 4))
      for (const context of contexts) {
        assert.deepStrictEqual(yield* Effect.provide(Migrations.run, context), [])
      }
    })
  )

  it.effect("R29, I1: concurrent requests on two replicas take exactly what there is", () =>
    Effect.gen(function* () {
      const [one, other] = yield* two
      yield* Effect.gen(function* () {
        const account = yield* makeAccount({ plan: "trial" }, 30)
        const reserve = Effect.flatMap(Ledger, (ledger) => Effect.result(ledger.reserve(account, 1)))
        const results = yield* Effect.forEach(
          Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? one : other)),
          (replica) => Effect.provide(reserve, replica),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(results.filter(Result.isSuccess).length, 130)
        const ledger = yield* Ledger
        assert.deepInclude(yield* ledger.allowance(account), { used: 100, balance: 0 })
        assert.deepStrictEqual(yield* ledger.verify, [])
      }).pipe(Effect.provide(one))
    })
  )

  it.effect("I1, I2, I3: the books agree after many searches of many accounts on two replicas, swept meanwhile", () =>
    Effect.gen(function* () {
      const [one, other] = yield* two
      yield* Effect.gen(function* () {
        const accounts = yield* Effect.forEach(Array.from({ length: 12 }), (_, index) =>
          makeAccount({ plan: "custom", quota: index * 5 }, index * 3)
        )
        const search = Effect.fnUntraced(function* (index: number) {
          const account = accounts[(index * 7) % accounts.length] ?? assert.fail("there are accounts")
          const ledger = yield* Ledger
          const wanted = 1 + (index % 4)
          const hold = yield* Effect.result(ledger.reserve(account, wanted))
          if (Result.isFailure(hold)) return 0
          if (index % 9 === 0) yield* (yield* Backdoor).expireHolds(account.id)
          if (index % 11 === 0) yield* ledger.sweep
          const records = yield* makeRecords(account, index % (wanted + 1))
          const settled = yield* Effect.result(ledger.settle(hold.success, records))
          return Result.isSuccess(settled) ? settled.success.charged : 0
        })
        const charged = yield* Effect.forEach(
          Array.from({ length: 600 }, (_, index) => index),
          (index) => Effect.provide(search(index), index % 2 === 0 ? one : other),
          { concurrency: 64 }
        )
        const ledger = yield* Ledger
        assert.deepStrictEqual(yield* ledger.verify, [])
        const sql = yield* SqlClient.SqlClient
        const [total] = yield* sql<{ readonly logged: number; readonly held: number }>`
          select (select count(*)::int from queries) as logged, (select count(*)::int from holds) as held`
        assert.deepStrictEqual(total, { logged: charged.reduce((sum, credits) => sum + credits, 0), held: 0 })
      }).pipe(Effect.provide(one))
    })
  )

  it.effect("R29, I3: two sweepers at once give back each hold once", () =>
    Effect.gen(function* () {
      const [one, other] = yield* two
      yield* Effect.gen(function* () {
        const ledger = yield* Ledger
        const backdoor = yield* Backdoor
        const accounts = yield* Effect.forEach(Array.from({ length: 20 }), () =>
          makeAccount({ plan: "custom", quota: 3 }, 4)
        )
        for (const account of accounts) {
          yield* ledger.reserve(account, 2)
          yield* ledger.reserve(account, 3)
          yield* backdoor.expireHolds(account.id)
        }
        const sweep = Effect.flatMap(Ledger, ({ sweep }) => sweep)
        const swept = yield* Effect.all([sweep, Effect.provide(sweep, other), sweep, Effect.provide(sweep, other)], {
          concurrency: "unbounded"
        })
        assert.strictEqual(
          swept.reduce((sum, count) => sum + count, 0),
          40
        )
        for (const account of accounts) {
          assert.deepInclude(yield* ledger.allowance(account), { used: 0, balance: 4 })
        }
        assert.deepStrictEqual(yield* ledger.verify, [])
      }).pipe(Effect.provide(one))
    })
  )

  it.effect("a record that the database refuses does not fail its neighbors", () =>
    Effect.gen(function* () {
      const [one] = yield* two
      yield* Effect.gen(function* () {
        const ledger = yield* Ledger
        const account = yield* makeAccount({ plan: "trial" })
        const exits = yield* Effect.forEach(
          ["fine", "a NUL \0 in it", "fine too"],
          Effect.fnUntraced(function* (query) {
            const hold = yield* ledger.reserve(account, 1)
            return yield* Effect.exit(ledger.settle(hold, [yield* makeRecord(account, query)]))
          }),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, false, true])
        const logged = yield* (yield* QueryLog).recent(account.id, 10)
        assert.deepStrictEqual(logged.map(({ request }) => request.query).sort(), ["fine", "fine too"])
        assert.deepStrictEqual(yield* ledger.verify, [])
      }).pipe(Effect.provide(one))
    })
  )

  it.effect("ledger functions read only the rows of their batch, regardless of the size of the tables", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      const account = yield* makeAccount({ plan: "growth" }, 5)
      const bounds = { budget: { credits: 1000, period: "month" } } as const
      const { key } = yield* (yield* KeyStore).create(account.id, { label: "CI", mode: "live", bounds })
      let requests = 0
      const operations = {
        plain: Effect.gen(function* () {
          yield* ledger.settle(yield* ledger.reserve(account, 1), yield* makeRecords(account, 1))
        }),
        parts: Effect.gen(function* () {
          const hold = yield* ledger.reserve(account, 2)
          yield* ledger.settlePart(hold, yield* makeRecord(account))
          yield* ledger.settle(hold, [])
        }),
        bounded: Effect.gen(function* () {
          const request = { route: "query", key: `k${requests++}`, content: "" } as const
          const reservation = yield* ledger.reserveKeyed(account, 1, request, { own: key.id })
          if (reservation._tag !== "held") return assert.fail(reservation._tag)
          yield* ledger.settle(reservation.hold, yield* makeRecords(account, 1), { request, text: "an answer" })
          assert.strictEqual((yield* ledger.reserveKeyed(account, 1, request, { own: key.id }))._tag, "answered")
        }),
        sweep: ledger.sweep
      }
      const warm = Effect.andThen(Effect.all(operations), Effect.all(operations))
      yield* warm
      yield* sql`vacuum analyze`
      yield* warm
      yield* fillLedger(sql)
      const cost = Effect.fnUntraced(function* <R>(operation: Effect.Effect<unknown, unknown, R>) {
        const before = new Map(yield* rowsRead(sql))
        yield* Effect.orDie(operation)
        return (yield* rowsRead(sql)).flatMap(([table, rows]) => {
          const more = rows - (before.get(table) ?? 0)
          return more > 40 ? [`${table}: ${more}`] : []
        })
      })
      // `holds` is small most of the time. Statements that were planned then must be right when it is not.
      for (const [name, operation] of Object.entries(operations)) {
        assert.notInclude((yield* cost(operation)).join(), "holds", name)
      }
      yield* sql`analyze`
      yield* warm
      for (const [name, operation] of Object.entries(operations)) {
        assert.deepStrictEqual(yield* cost(operation), [], name)
      }
    }).pipe(
      Effect.provide(
        Layer.unwrap(Effect.map(freshDatabase, ({ url }) => SqlStorage.layer(PostgresSql.layer({ url, poolSize: 1 }))))
      )
    )
  )

  it.live("a broken connection costs a retry and no credit", () =>
    Effect.gen(function* () {
      const [one, other] = yield* two
      yield* Effect.gen(function* () {
        const ledger = yield* Ledger
        const account = yield* makeAccount({ plan: "trial" })
        yield* ledger.reserve(account, 1)
        yield* Effect.provide(
          Effect.flatMap(
            SqlClient.SqlClient,
            (sql) => sql`
              select pg_terminate_backend(pid) from pg_stat_activity
              where datname = current_database() and pid <> pg_backend_pid()`
          ),
          other
        )
        yield* ledger.reserve(account, 1)
        assert.deepInclude(yield* ledger.allowance(account), { used: 2 })
      }).pipe(Effect.provide(one))
    })
  )

  it.live("a reservation that is sent again, because its answer was lost, is answered with the same figures", () =>
    Effect.gen(function* () {
      const [one] = yield* two
      yield* Effect.gen(function* () {
        const ledger = yield* Ledger
        const sql = yield* SqlClient.SqlClient
        const account = yield* makeAccount({ plan: "custom", quota: 3 }, 5)
        yield* ledger.reserve(account, 1)
        const send = (...ids: ReadonlyArray<string>) => sql`
          select status, from_quota, from_balance, used, balance from ledger_reserve(
            ${ids.map(() => account.id)}, ${ids}, ${ids.map(() => 4)}::bigint[], clock_timestamp(), 60000)`
        const figures = { from_quota: 2n, from_balance: 2n, used: 1n, balance: 5n }
        assert.deepStrictEqual(yield* send("hld_lost"), [{ status: "held", ...figures }])
        const [again, next] = yield* send("hld_lost", "hld_next")
        assert.deepStrictEqual(again, { status: "held", ...figures })
        assert.deepInclude(next, { status: "exceeded", used: 3n, balance: 3n })
      }).pipe(Effect.provide(one))
    })
  )

  it.live("verifying the books under load raises no false alarm", () =>
    Effect.gen(function* () {
      const [one, other] = yield* two
      yield* Effect.gen(function* () {
        const ledger = yield* Ledger
        const accounts = yield* Effect.forEach(Array.from({ length: 5 }), () =>
          makeAccount({ plan: "custom", quota: 2000 }, 1000)
        )
        const caller = Effect.fnUntraced(function* (index: number) {
          for (let n = index; ; n++) {
            const { reserve, settle } = yield* Ledger
            const account = accounts[n % accounts.length] ?? assert.fail("there are accounts")
            const hold = yield* Effect.result(reserve(account, 1 + (n % 5)))
            if (Result.isFailure(hold)) continue
            yield* settle(hold.success, yield* makeRecords(account, n % (2 + (n % 5))))
          }
        })
        const callers = yield* Effect.forkChild(
          Effect.forEach(
            Array.from({ length: 50 }, (_, index) => index),
            (index) => Effect.provide(caller(index), index % 2 === 0 ? one : other),
            { concurrency: "unbounded" }
          )
        )
        for (let n = 0; n < verifications; n++) assert.deepStrictEqual(yield* ledger.verify, [])
        const sql = yield* SqlClient.SqlClient
        const [logged] = yield* sql<{ readonly count: number }>`select count(*)::int from queries`
        assert.isAbove(logged?.count ?? 0, 100)
        yield* Fiber.interrupt(callers)
      }).pipe(Effect.provide(one))
    })
  )

  it.effect("I6: the ledger's entries can be neither changed nor removed", () =>
    Effect.gen(function* () {
      const [one] = yield* two
      yield* Effect.gen(function* () {
        yield* makeAccount({ plan: "trial" }, 10)
        const sql = yield* SqlClient.SqlClient
        for (const statement of [
          sql`update ledger_entries set balance_credits = 0`,
          sql`delete from ledger_entries`,
          sql`truncate ledger_entries`
        ]) {
          const error = yield* Effect.flip(statement)
          assert.include(String(error.reason.cause), "append-only")
        }
      }).pipe(Effect.provide(one))
    })
  )

  it.effect("a copy of the database opens nothing without the pepper", () =>
    Effect.gen(function* () {
      const [one] = yield* two
      yield* Effect.gen(function* () {
        const keys = yield* KeyStore
        const { secret } = yield* keys.create((yield* makeAccount({ plan: "starter" })).id, {
          label: "CI",
          mode: "live"
        })
        const sql = yield* SqlClient.SqlClient
        const [row] = yield* sql<{ readonly text: string }>`select api_keys::text as text from api_keys`
        assert.notInclude(row?.text, Redacted.value(secret))
        const refusal = yield* Effect.flatMap(KeyStore, (store) => Effect.flip(store.authenticate(secret))).pipe(
          Effect.provide(
            KeyStoreSql.layer({ pepper: singleKeyring(Redacted.make("another")) }).pipe(Layer.provide(Ids.layer))
          )
        )
        assert.strictEqual(refusal._tag, "unauthorized")
      }).pipe(Effect.provide(one))
    })
  )
})
