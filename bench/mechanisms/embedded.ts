import { PgClient } from "@effect/sql-pg"
import { PGlite } from "@electric-sql/pglite"
import { Context, Effect, Layer, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError } from "effect/sql"
import * as Pglite from "../../src/layers/sql/store/Pglite.ts"
import { readTemplate } from "../../src/layers/sql/store/templates.ts"
import { compare } from "./Comparison.ts"

/* Statements on the embedded database in memory: our connection, and a client that calls PGlite's own `query`. */

const failed = (cause: unknown) =>
  new SqlError.SqlError({ reason: new SqlError.UnknownError({ cause, message: "failed", operation: "execute" }) })

/** What a SQL client for PGlite is: there is none for this version of Effect. */
const direct = Effect.gen(function* () {
  const database = yield* Effect.acquireRelease(
    Effect.promise(async () => PGlite.create({ loadDataDir: await readTemplate("empty") })),
    (database) => Effect.promise(() => database.close())
  )
  const run = (sql: string, params: ReadonlyArray<unknown>, rowMode: "array" | "object" = "object") =>
    Effect.tryPromise({ try: () => database.query<never>(sql, [...params], { rowMode }), catch: failed })
  const rows = (sql: string, params: ReadonlyArray<unknown>) => Effect.map(run(sql, params), (result) => result.rows)
  const values = (sql: string, params: ReadonlyArray<unknown>) =>
    Effect.map(run(sql, params, "array"), (result) => result.rows)
  const connection: SqlConnection.Connection = {
    execute: rows,
    executeRaw: run,
    executeStream: (sql, params) => Stream.fromIterableEffect(rows(sql, params)),
    executeUnprepared: rows,
    executeValues: values,
    executeValuesUnprepared: values
  }
  return yield* SqlClient.make({
    acquirer: Effect.succeed(connection),
    compiler: PgClient.makeCompiler(),
    driver: "pglite",
    spanAttributes: []
  })
}).pipe(Effect.provide(Reactivity.layer))

const entries = 50

const prepare = (sql: SqlClient.SqlClient) =>
  Effect.andThen(
    sql`create table entries (id text primary key, n bigint not null, at timestamptz not null, data jsonb not null)`,
    sql`
      insert into entries
      select 'qry_' || n, n, now(), jsonb_build_object('title', 'How it works', 'n', n)
      from generate_series(1, ${entries}) as n`
  )

export const comparisons = Effect.gen(function* () {
  const context = yield* Layer.build(Pglite.layer({ dataDir: undefined }))
  const [ours, library] = [Context.get(context, SqlClient.SqlClient), yield* direct]
  for (const sql of [ours, library]) yield* prepare(sql)
  const one = (sql: SqlClient.SqlClient) => sql`select id, n, at, data from entries where id = ${"qry_7"}`
  const all = (sql: SqlClient.SqlClient) => sql`select id, n, at, data from entries where n <= ${entries} order by n`
  return [
    compare("a row by its key, from PGlite", one(ours), one(library), { perRound: 512 }),
    compare("50 rows, from PGlite", all(ours), all(library), { perRound: 512 })
  ]
}).pipe(Effect.orDie)
