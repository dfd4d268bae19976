import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Effect, Exit, Fiber, type Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { mailboxOf } from "../../../src/domain/accounts/emailAddress.ts"
import * as Migrations from "../../../src/layers/sql/Migrations.ts"
import * as Pglite from "../../../src/layers/sql/store/Pglite.ts"
import * as Postgres from "../../../src/layers/sql/store/Postgres.ts"
import { explain } from "../../../src/process/lifecycle/explain.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { addresses } from "../../support/api/addresses.ts"
import { makeAccount, makeRecord } from "../../support/api/searches.ts"
import { useAll } from "../../support/api/useAll.ts"
import { emptyDatabase } from "../../support/stores/Database.ts"
import * as EmbeddedDatabase from "../../support/stores/EmbeddedDatabase.ts"
import { describeWithPostgres, emptyLayer as emptyPostgres } from "../../support/stores/Postgres.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"

const atNewDatabase = <A, E>(
  effect: Effect.Effect<A, E, Layer.Success<ReturnType<typeof SqlStorage.layer>> | SqlClient.SqlClient>
) =>
  Effect.flatMap(emptyDatabase, ({ url }) =>
    Effect.provide(effect, SqlStorage.layer(Postgres.layer({ url, poolSize: 6 })), { local: true })
  )

const allMigrations: ReadonlyArray<readonly [id: number, name: string]> = [
  [1, "initial"],
  [2, "app_use"],
  [3, "members"],
  [4, "activity"],
  [5, "single_sign_on"],
  [6, "member_bounds"],
  [7, "member_usage"],
  [8, "second_factors"],
  [9, "sign_in_places"],
  [10, "operators"],
  [11, "provider_pauses"],
  [12, "uncompiled"]
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

const knowsMailboxes = <E>(database: Layer.Layer<SqlClient.SqlClient, E>) => {
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

/** A store of a development version before 0.1.0, with the first of its migrations. */
const unreleased = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* Migrations.runAll({ "0001_schema": Effect.asVoid(sql`create table accounts (id text)`) })
})

const tables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly name: string }>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by relname`
  return rows.map(({ name }) => name)
})

/** What a failure prints. */
const errorOf = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.map(Effect.flip(Effect.sandbox(effect)), (cause) => explain(cause) ?? Cause.pretty(cause))

const leavesUnreleased = <E>(database: Layer.Layer<SqlClient.SqlClient, E>) => {
  it.live("a start, `migrate` and commands say in one sentence that a store from before 0.1.0 cannot be upgraded", () =>
    Effect.gen(function* () {
      yield* unreleased
      const sentence =
        "The database was created by a development version before 0.1.0 (migration 0001_schema) and cannot be upgraded: " +
        "set DATABASE_URL or DATA_DIR to an empty one."
      assert.strictEqual(yield* errorOf(Migrations.run), sentence)
      assert.strictEqual(yield* errorOf(Migrations.requireSchema({ takesNewer: true })), sentence)
      assert.deepStrictEqual(yield* tables, ["accounts", "quarry_migrations"])
    }).pipe(Effect.provide(database, { local: true }))
  )
}

describe("Migrations on PGlite", () => {
  leavesUnreleased(Pglite.layer({ dataDir: undefined }))
  knowsMailboxes(EmbeddedDatabase.layer)
})
describeWithPostgres("Migrations on Postgres", () => {
  it.live("a migration whose connection is cut leaves nothing behind, and the next run makes it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const slow = Effect.andThen(Migrations.runFile("accounts.sql"), Effect.asVoid(sql`select pg_sleep(60)`))
      const cut = yield* Effect.forkChild(Migrations.runAll({ "0001_initial": slow }))
      const terminate = sql<{ readonly ended: boolean }>`
        select pg_terminate_backend(pid) as ended from pg_stat_activity
        where datname = current_database() and query like 'select pg_sleep%' and pid <> pg_backend_pid()`
      while ((yield* terminate).length === 0) yield* Effect.sleep("50 millis")
      assert.isTrue(Exit.isFailure(yield* Fiber.await(cut)))
      assert.deepStrictEqual(yield* tables, ["quarry_migrations"])
      assert.deepStrictEqual(yield* Migrations.run, allMigrations)
    }).pipe(Effect.provide(emptyPostgres, { local: true }))
  )

  leavesUnreleased(emptyPostgres)
  knowsMailboxes(emptyPostgres)

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
