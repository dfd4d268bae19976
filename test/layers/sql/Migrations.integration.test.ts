import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Effect, Exit, Fiber, type Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import type { Account } from "../../../src/domain/Account.ts"
import { mailboxOf } from "../../../src/domain/emailAddress.ts"
import * as Migrations from "../../../src/layers/sql/Migrations.ts"
import * as Pglite from "../../../src/layers/sql/Pglite.ts"
import * as Postgres from "../../../src/layers/sql/Postgres.ts"
import { explain } from "../../../src/process/explain.ts"
import { Accounts } from "../../../src/services/Accounts.ts"
import { KeyStore } from "../../../src/services/KeyStore.ts"
import { Ledger } from "../../../src/services/Ledger.ts"
import { QueryLog } from "../../../src/services/QueryLog.ts"
import { addresses } from "../../support/addresses.ts"
import { freshDatabase } from "../../support/Database.ts"
import { describeWithPostgres, layer as emptyPostgres } from "../../support/Postgres.ts"
import * as SqlStorage from "../../support/SqlStorage.ts"
import { makeAccount, makeRecord } from "../../support/searches.ts"

const atNewDatabase = <A, E>(
  effect: Effect.Effect<A, E, Layer.Success<ReturnType<typeof SqlStorage.layer>> | SqlClient.SqlClient>
) =>
  Effect.flatMap(freshDatabase, ({ url }) =>
    Effect.provide(effect, SqlStorage.layer(Postgres.layer({ url, poolSize: 4 })), { local: true })
  )

/** Everything that a replica asks of the store, so that its statements are prepared. */
const useAll = Effect.gen(function* () {
  const accounts = yield* Accounts
  const keys = yield* KeyStore
  const ledger = yield* Ledger
  const account = yield* makeAccount({ plan: "starter" }, 5)
  yield* accounts.byEmail(account.email)
  yield* accounts.setPlan(account.id, { plan: "growth" })
  yield* accounts.suspend(account.id)
  yield* accounts.resume(account.id)
  const { key: first } = yield* keys.create(account.id, { label: "CI", mode: "live" })
  yield* keys.rotate(first.id)
  const { key, secret } = yield* keys.create(account.id, { label: "CI", mode: "live" })
  yield* keys.authenticate(secret)
  yield* keys.list(account.id)
  yield* keys.revoke(key.id)
  yield* ledger.settle(yield* ledger.reserve(account, 1), [yield* makeRecord(account)])
  assert.strictEqual((yield* (yield* QueryLog).recent(account.id, 10)).length, 1)
  assert.deepInclude(yield* ledger.allowance(account), { used: 1, balance: 5 })
  yield* ledger.sweep
  assert.deepStrictEqual(yield* ledger.verify, [])
})

const allMigrations: ReadonlyArray<readonly [id: number, name: string]> = [
  [1, "schema"],
  [2, "books"],
  [3, "log_reasons"],
  [4, "operators"],
  [5, "inspection"],
  [6, "documents_terms"],
  [7, "billing"],
  [8, "settle_part"],
  [10, "documents_find"],
  [11, "idempotency"],
  [12, "key_bounds"],
  [13, "events"],
  [14, "reserve_again"],
  [15, "shared_functions"],
  [16, "event_queues"],
  [17, "trial_mailboxes"]
]

/** What a newer version may do to a store that older replicas are using: add, and replace with the same signature. */
const expand = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ readonly name: string }>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and relname <> 'quarry_migrations'`
  for (const { name } of tables) {
    yield* sql`alter table ${sql(name)} add column added_later text not null default 'expanded'`
  }
  const functions = yield* sql<{ readonly definition: string }>`
    select pg_get_functiondef(oid) as definition from pg_proc where pronamespace = 'public'::regnamespace`
  for (const { definition } of functions) yield* sql.unsafe(definition)
})

describeWithPostgres("Migrations beside running replicas", () => {
  it.live("an older replica keeps working while and after a newer one expands the schema", () =>
    atNewDatabase(
      Effect.gen(function* () {
        for (let n = 0; n < 8; n++) yield* useAll
        yield* Migrations.runAll({ "9999_newer": expand })
        for (let n = 0; n < 8; n++) yield* useAll
        assert.deepStrictEqual(yield* Migrations.run, [])
      })
    )
  )

  it.live("a change waits for a table in use without making its users wait, and is made when it is free", () =>
    atNewDatabase(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const account = yield* makeAccount({ plan: "growth" })
        const ledger = yield* Ledger
        const reader = yield* Effect.forkChild(
          sql.withTransaction(Effect.andThen(sql`select from queries`, Effect.sleep("4 seconds")))
        )
        yield* Effect.sleep("200 millis")
        const change = yield* Effect.forkChild(
          Migrations.runAll({
            "9999_newer": Effect.asVoid(sql`alter table queries add column added_later text`)
          })
        )
        while (reader.pollUnsafe() === undefined) {
          const start = yield* Clock.currentTimeMillis
          yield* ledger.settle(yield* ledger.reserve(account, 1), [yield* makeRecord(account)])
          assert.isBelow((yield* Clock.currentTimeMillis) - start, 3000)
        }
        assert.deepStrictEqual(yield* Fiber.join(change), [[9999, "newer"]])
      })
    )
  )
})

/** Each migration is run over what the ones before it have left, with rows that were written then. */
const upgrades = <E>(database: Layer.Layer<SqlClient.SqlClient, E>) => {
  it.live("a store of the first migration is brought to the present one, with its credits and its keys", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Migrations.runAll({ "0001_schema": Migrations.firstSchema })
      yield* sql`
        insert into accounts (id, email, plan, quota, concurrency, created_at)
        values ('acc_old', 'old@example.org', 'starter', 5000, 2, now())`
      yield* sql`insert into wallets (account_id, balance) values ('acc_old', 7)`
      yield* sql`
        insert into ledger_entries (account_id, kind, quota_credits, balance_credits, cause, reason)
        values ('acc_old', 'grant', 0, 7, 'grant:old', 'a pack')`
      yield* sql`
        insert into api_keys (id, account_id, label, mode, digest, hint, created_at)
        values ('key_old', 'acc_old', 'CI', 'live', '\\x00', 'sk_', now())`
      assert.deepStrictEqual(yield* Migrations.run, allMigrations.slice(1))
      yield* Effect.gen(function* () {
        const ledger = yield* Ledger
        const adjustment = { accountId: "acc_old", to: "balance" as const, reason: "a test", by: "ann" }
        assert.strictEqual((yield* ledger.adjust({ ...adjustment, credits: -2 })).balance, 5)
        assert.strictEqual((yield* (yield* KeyStore).list("acc_old")).length, 1)
        assert.deepStrictEqual(yield* ledger.verify, [])
      }).pipe(Effect.provide(SqlStorage.replica()))
    }).pipe(Effect.provide(database, { local: true }))
  )
}

/** An account that was granted a trial by its address as it was typed, and what it has used of it. */
const insertTrial = Effect.fnUntraced(function* (id: string, email: string, used: number, isDeleted = false) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    with granted as (
      insert into allowances (scope, period_start, quota, used)
      values (
        'trial:' || encode(sha256(convert_to(${email}, 'UTF8')), 'hex'), to_timestamp(0), 100, ${used}::bigint
      )
      returning id
    )
    insert into accounts (id, email, plan, quota, concurrency, created_at, allowance_id, deleted_at)
    select ${id}, case when ${isDeleted}::boolean then '' else ${email} end, 'trial', 100, 1, now(), id,
      case when ${isDeleted}::boolean then now() end
    from granted`
  yield* sql`insert into wallets (account_id) values (${id})`
  yield* sql`
    insert into ledger_entries (account_id, allowance_id, kind, quota_credits, balance_credits, cause, reason)
    select ${id}, allowance_id, 'grant', ${used}::bigint, 0, 'use:' || ${id}, 'before' from accounts where id = ${id}`
})

/** Trials that several addresses of a mailbox were granted before mailboxes counted (R32). */
const keepsTrials = <E>(database: Layer.Layer<SqlClient.SqlClient, E>) => {
  it.live("R32: grants from before mailboxes counted keep counting, the most used one for the mailbox", () =>
    Effect.gen(function* () {
      yield* Migrations.runAll({ "0001_schema": Migrations.firstSchema })
      yield* insertTrial("acc_plain", "ada@example.com", 10)
      yield* insertTrial("acc_tagged", "ada+1@example.com", 60)
      yield* insertTrial("acc_twin", "ada+2@example.com", 60)
      yield* insertTrial("acc_dots", "a.da@gmail.com", 99)
      yield* insertTrial("acc_left", "bob+left@example.com", 80, true)
      yield* insertTrial("acc_alone", "eve@example.com", 5)
      yield* Migrations.run
      yield* Effect.gen(function* () {
        const [accounts, ledger] = [yield* Accounts, yield* Ledger]
        const leftOf = Effect.fnUntraced(function* (account: Account) {
          const { quota = 0, used } = yield* ledger.allowance(account)
          return quota - used
        })
        const left = Effect.fnUntraced(function* (email: string) {
          return yield* leftOf(yield* accounts.byEmail(email))
        })
        const newcomer = Effect.fnUntraced(function* (email: string) {
          return yield* leftOf(yield* accounts.create({ email, plan: "trial" }))
        })
        for (const [email, credits] of [
          ["ada@example.com", 90],
          ["ada+1@example.com", 40],
          ["ada+2@example.com", 40],
          ["a.da@gmail.com", 1],
          ["eve@example.com", 95]
        ] as const) {
          assert.strictEqual(yield* left(email), credits, email)
        }
        assert.strictEqual(yield* newcomer("ada+3@example.com"), 0)
        assert.strictEqual(yield* newcomer("ada@googlemail.com"), 0)
        assert.strictEqual(yield* newcomer("eve+1@example.com"), 0)
        yield* accounts.remove("acc_tagged")
        assert.strictEqual(yield* newcomer("ada+4@example.com"), 40)
        // Only the digest of a deleted account's address is kept.
        assert.strictEqual(yield* newcomer("bob+left@example.com"), 20)
        assert.strictEqual(yield* newcomer("bob@example.com"), 0)
        assert.deepStrictEqual(yield* ledger.verify, [])
      }).pipe(Effect.provide(SqlStorage.replica()))
    }).pipe(Effect.provide(database, { local: true }))
  )

  it.live("R32: the database knows the mailbox of an address as the code does", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Migrations.run
      const samples = [
        ...fc.sample(addresses, 300),
        "nobody",
        "@",
        "a@",
        "@gmail.com",
        "+@x",
        "\u{1f600}+1@\u{e9}.example"
      ]
      const rows = yield* sql<{ readonly mailbox: string }>`
        select trial_mailbox(address) as mailbox from unnest(${samples}::text[]) with ordinality as t (address, n) order by n`
      assert.deepStrictEqual(
        rows.map(({ mailbox }) => mailbox),
        samples.map(mailboxOf)
      )
    }).pipe(Effect.provide(database, { local: true }))
  )
}

/** A store of a version before 0.1.0: it has the first of its migrations. */
const olderHistory = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* Migrations.runAll({ "0001_storage": Effect.asVoid(sql`create table accounts (id text)`) })
})

const tables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly name: string }>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by relname`
  return rows.map(({ name }) => name)
})

const refusesOtherHistory = <E>(database: Layer.Layer<SqlClient.SqlClient, E>) => {
  it.live("a database with another history of migrations is refused in one line and left as it was", () =>
    Effect.gen(function* () {
      yield* olderHistory
      const cause = yield* Effect.flip(Effect.sandbox(Migrations.run))
      const line = explain(cause) ?? Cause.pretty(cause)
      assert.notInclude(line, "\n")
      assert.match(line, /^The database has migration 1 under the name "storage".*DATABASE_URL or DATA_DIR\.$/)
      assert.deepStrictEqual(yield* tables, ["accounts", "quarry_migrations"])
    }).pipe(Effect.provide(database, { local: true }))
  )
}

describe("Migrations on PGlite", () => {
  refusesOtherHistory(Pglite.layer({ dataDir: undefined }))
  keepsTrials(Pglite.layer({ dataDir: undefined }))
  upgrades(Pglite.layer({ dataDir: undefined }))
})
describeWithPostgres("Migrations on Postgres", () => {
  it.live("a migration whose connection is cut leaves nothing behind, and the next run makes it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const slow = Effect.andThen(Migrations.runFile("accounts.sql"), Effect.asVoid(sql`select pg_sleep(60)`))
      const cut = yield* Effect.forkChild(Migrations.runAll({ "0001_schema": slow }))
      const terminate = sql<{ readonly ended: boolean }>`
        select pg_terminate_backend(pid) as ended from pg_stat_activity
        where datname = current_database() and query like 'select pg_sleep%' and pid <> pg_backend_pid()`
      while ((yield* terminate).length === 0) yield* Effect.sleep("50 millis")
      assert.isTrue(Exit.isFailure(yield* Fiber.await(cut)))
      assert.deepStrictEqual(yield* tables, ["quarry_migrations"])
      assert.deepStrictEqual(yield* Migrations.run, allMigrations)
    }).pipe(Effect.provide(emptyPostgres, { local: true }))
  )

  refusesOtherHistory(emptyPostgres)
  keepsTrials(emptyPostgres)
  upgrades(emptyPostgres)

  it.live("a failing statement of a schema file leaves nothing of the migration behind", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`create table auth_apps (id text)`
      yield* Effect.flip(Migrations.run)
      assert.deepStrictEqual(yield* tables, ["auth_apps", "quarry_migrations"])
      yield* sql`drop table auth_apps`
      assert.deepStrictEqual(yield* Migrations.run, allMigrations)
    }).pipe(Effect.provide(emptyPostgres, { local: true }))
  )
})
