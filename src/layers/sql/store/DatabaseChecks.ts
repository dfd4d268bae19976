import { Duration, Effect, Schema } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlClient, SqlError } from "effect/sql"
import { rowOf } from "../Rows.ts"
import { StorageUnavailable } from "./DirectoryLock.ts"
import { connect, type PostgresOptions, poolerAdvice } from "./Postgres.ts"

const encodingRow = rowOf(Schema.Struct({ encoding: Schema.String }))

const checkEncoding = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const row = yield* encodingRow(sql`select current_setting('server_encoding') as encoding`)
  if (row === undefined || row.encoding === "UTF8") return
  return yield* new StorageUnavailable({
    message:
      `The database in DATABASE_URL has the encoding ${row.encoding}, which cannot store every text. ` +
      "Create one with: create database quarry encoding 'UTF8' template template0"
  })
})

const probe = "select 1 as prepared"

const sharedRow = rowOf(Schema.Struct({ isShared: Schema.Boolean }))

/**
 * Measures whether sessions are shared: prepares a statement on one connection, and looks for it on another, to which a
 * transaction pooler gives the same server. Poolers that keep track of prepared statements rename them.
 */
const checkPrepared = (sql: SqlClient.SqlClient): Effect.Effect<void, StorageUnavailable | SqlError.SqlError> =>
  Effect.gen(function* () {
    const connection = yield* sql.reserve
    // The driver sends the first execution without a name.
    yield* Effect.repeat(connection.execute(probe, [], undefined), { times: 2 })
    const row = yield* sql.withTransaction(
      sharedRow(sql`
        select count(*) > 0 as "isShared" from pg_prepared_statements
        where statement = ${probe}::text and starts_with(name, 'effect_')`)
    )
    if (row?.isShared === true) return yield* new StorageUnavailable({ message: poolerAdvice })
  }).pipe(Effect.scoped)

/** Refuses a database that works at first and fails later. */
export const run = Effect.fnUntraced(
  function* (options: PostgresOptions) {
    const sql = yield* connect(options, { maxConnections: 2, idleTimeout: Duration.infinity })
    yield* checkEncoding(sql)
    if (options.prepare !== false) yield* checkPrepared(sql)
  },
  Effect.scoped,
  Effect.provide(Reactivity.layer)
)
