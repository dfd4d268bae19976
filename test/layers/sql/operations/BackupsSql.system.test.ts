import { gunzipSync, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Stream } from "effect"
import { SqlClient } from "effect/sql"
import * as Migrations from "../../../../src/layers/sql/Migrations.ts"
import * as BackupsSql from "../../../../src/layers/sql/operations/BackupsSql.ts"
import * as Pglite from "../../../../src/layers/sql/store/Pglite.ts"
import * as Postgres from "../../../../src/layers/sql/store/Postgres.ts"
import { Backups } from "../../../../src/services/operations/Backups.ts"
import { emptyDatabase } from "../../../support/stores/Database.ts"
import { describeWithPostgres } from "../../../support/stores/Postgres.ts"

type Store = Layer.Layer<SqlClient.SqlClient>

const embedded: Store = Layer.fresh(Layer.orDie(Pglite.layer({ dataDir: undefined })))
const server: Store = Layer.fresh(
  Layer.orDie(
    Layer.unwrap(
      Effect.map(emptyDatabase, ({ url }) => Postgres.layer({ url: Redacted.make(Redacted.value(url)), poolSize: 3 }))
    )
  )
)

const inStore =
  (store: Store) =>
  <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient | Backups>) =>
    Effect.provide(effect, BackupsSql.layer.pipe(Layer.provideMerge(store)))

const odd = `a"b\\c\nd\té 🦆 {1,2} [x] null`

/** A store with every kind of value: texts with signs, bytes, times to the microsecond, a log of several months, books. */
const fill = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* Effect.orDie(Migrations.run)
  yield* sql`select queries_make_partitions('2025-11-01T00:00:00Z', 2)`
  yield* sql`insert into accounts (id, email, plan, concurrency, created_at)
    values ('acc_1', ${odd}, 'growth', 5, '2026-01-31T08:00:00.123456Z'), ('acc_2', '', 'trial', 1, now())`
  yield* sql`insert into wallets (account_id, balance) values ('acc_1', 0), ('acc_2', 0)`
  yield* sql`insert into indexed_documents (url, title, description, content)
    select 'https://d/' || n, ${odd}, '', repeat('x', 1000) from generate_series(1, 1201) n`
  yield* sql`select setval('queries_ordinal', 777)`
  yield* sql`delete from indexed_documents where url = 'https://d/1201'`
})

const take = Effect.gen(function* () {
  const backups = yield* Backups
  const chunks = yield* Stream.runCollect(backups.take(() => Effect.void))
  return Buffer.concat(chunks)
})

let filled: Promise<Buffer> | undefined

/** The backup of a filled embedded store, taken once. */
const filledBackup = Effect.promise(() => {
  filled ??= Effect.runPromise(inStore(embedded)(Effect.andThen(fill, take)))
  return filled
})

const restore = (bytes: Uint8Array, overwrite = false) =>
  Effect.flatMap(Backups, (backups) => backups.restore(Stream.make(bytes), { overwrite }))

const check = (bytes: Uint8Array) => Effect.flatMap(Backups, (backups) => backups.check(Stream.make(bytes)))

/** The lines of a backup without its first, which has the time. */
const lines = (bytes: Uint8Array) => gunzipSync(bytes).toString().split("\n").slice(1, -2)

const counts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ documents: number; accounts: number; next: bigint; ordinal: bigint }>`
    select (select count(*)::int from indexed_documents) as documents, (select count(*)::int from accounts) as accounts,
      nextval(pg_get_serial_sequence('indexed_documents', 'id')) as next, nextval('queries_ordinal') as ordinal`
  return row
})

describeWithPostgres("a backup", () => {
  for (const [from, source] of [
    ["the embedded store", embedded],
    ["Postgres", server]
  ] as const) {
    for (const [to, target] of [
      ["the embedded store", embedded],
      ["Postgres", server]
    ] as const) {
      it.live(
        `of ${from} restores into ${to} with every row as it was`,
        () =>
          Effect.gen(function* () {
            const bytes = yield* inStore(source)(Effect.andThen(fill, take))
            yield* Effect.gen(function* () {
              yield* restore(bytes)
              assert.deepInclude(yield* counts, { documents: 1200, accounts: 2, next: 1202n, ordinal: 778n })
              // The copy's own backup differs in what the restore itself has verified, and in nothing else.
              const changed = /^\{"(table|end)":"ledger_(verifications|checkpoints)"|^\{"sequences"/
              const ofBooks = (line: string) => changed.test(line)
              const copy = lines(yield* take).filter((line) => !ofBooks(line))
              const kept = lines(bytes).filter((line) => !ofBooks(line))
              assert.includeMembers(copy, kept)
            }).pipe(inStore(target))
          }),
        300_000
      )
    }
  }

  it.live("is one snapshot: what is written meanwhile is not in it", () =>
    Effect.gen(function* () {
      yield* fill
      const sql = yield* SqlClient.SqlClient
      const backups = yield* Backups
      let isFirst = true
      const chunks = yield* Stream.runCollect(
        backups
          .take(() => Effect.void)
          .pipe(
            Stream.tap(() => {
              if (!isFirst) return Effect.void
              isFirst = false
              return Effect.asVoid(
                sql`insert into audit_entries (operator, command, arguments) values ('late', 'late', '{}')`
              )
            })
          )
      )
      assert.notInclude(gunzipSync(Buffer.concat(chunks)).toString(), '"late"')
    }).pipe(inStore(server))
  )
})

describe("a restore", () => {
  it.live(
    "refuses a store that holds data, and replaces it all with overwrite",
    () =>
      Effect.gen(function* () {
        const bytes = yield* filledBackup
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* fill
          yield* sql`insert into accounts (id, email, plan, concurrency, created_at) values ('acc_3', '', 'trial', 1, now())`
          const refused = yield* Effect.flip(restore(bytes))
          assert.strictEqual(
            refused.message,
            "The store holds data. Restore into an empty one, or replace all of its data with --overwrite."
          )
          assert.deepInclude(yield* counts, { accounts: 3 })
          yield* restore(bytes, true)
          assert.deepInclude(yield* counts, { accounts: 2, documents: 1200 })
        }).pipe(inStore(embedded))
      }),
    300_000
  )

  it.live(
    "refuses a database of another program, also with overwrite",
    () =>
      Effect.gen(function* () {
        const bytes = yield* filledBackup
        const error = yield* Effect.gen(function* () {
          yield* (yield* SqlClient.SqlClient)`create table theirs (id integer)`
          return yield* Effect.flip(restore(bytes, true))
        }).pipe(inStore(embedded))
        assert.strictEqual(
          error.message,
          "The database has tables that are not Quarry's. Restore into an empty database."
        )
      }),
    300_000
  )

  const damaged: ReadonlyArray<readonly [string, (text: string) => string, RegExp]> = [
    ["a row that was changed", (text) => text.replace('"growth"', '"custom"'), /table accounts does not have the rows/],
    ["a row too few", (text) => text.replace(/^\["acc_2".*\n/m, ""), /table accounts does not have the rows/],
    [
      "a table that is missing",
      (text) => text.replace(/^\{"table":"wallets"[\s\S]*?"end":"wallets".*\n/m, ""),
      /its checksum/
    ],
    ["no end", (text) => text.slice(0, text.lastIndexOf("{")), /is incomplete: it was cut off/],
    ["another beginning", () => "hello\n", /damaged or not a backup/]
  ]
  it.live(
    "changes nothing where a backup is damaged, and check finds the same",
    () =>
      Effect.gen(function* () {
        const bytes = yield* filledBackup
        yield* Effect.gen(function* () {
          const text = gunzipSync(bytes).toString()
          const files: Array<readonly [string, Uint8Array, RegExp]> = [
            ...damaged.map(([what, change, message]) => [what, gzipSync(change(text)), message] as const),
            ["half of it", bytes.subarray(0, bytes.length / 2), /damaged|incomplete/],
            ["text that is not compressed", Buffer.from("hello"), /damaged or not a backup/]
          ]
          for (const [what, file, message] of files) {
            assert.match((yield* Effect.flip(check(file))).message, message, what)
            assert.match((yield* Effect.flip(restore(file))).message, message, what)
          }
          assert.strictEqual((yield* check(bytes)).tables > 20, true)
          const [row] = yield* (yield* SqlClient.SqlClient)<{ tables: number }>`
          select count(*)::int as tables from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'r'`
          assert.strictEqual(row?.tables, 0)
        }).pipe(inStore(embedded))
      }),
    300_000
  )

  it.live(
    "of a backup whose books do not add up changes nothing",
    () =>
      Effect.gen(function* () {
        const bytes = yield* Effect.gen(function* () {
          yield* fill
          yield* (yield* SqlClient.SqlClient)`update wallets set balance = 7 where account_id = 'acc_1'`
          return yield* take
        }).pipe(inStore(embedded))
        const error = yield* Effect.flip(restore(bytes)).pipe(inStore(embedded))
        assert.match(error.message, /^The ledger of the backup is inconsistent \(discrepancies: 1\)/)
      }),
    300_000
  )

  it.live(
    "of a newer version's backup names that version",
    () =>
      Effect.gen(function* () {
        const bytes = yield* filledBackup
        const text = gunzipSync(bytes).toString().replace('"0001_initial"', '"0001_initial","9999_later"')
        const error = yield* Effect.flip(restore(gzipSync(text))).pipe(inStore(embedded))
        assert.match(error.message, /^The backup was made by version .*, which is newer/)
      }),
    300_000
  )
})
