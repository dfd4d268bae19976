import { Duration, Effect, Schema } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlClient, SqlError } from "effect/sql"
import { rowOf } from "../Rows.ts"
import { StorageUnavailable } from "./DirectoryLock.ts"
import { lostPrepared } from "./FaultyConnections.ts"
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

/**
 * Measures whether prepared statements survive. While another transaction holds the server connection on which the
 * statement was prepared, a transaction pooler gives the statement to a connection that does not have it.
 */
const checkPrepared = (sql: SqlClient.SqlClient): Effect.Effect<void, StorageUnavailable | SqlError.SqlError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const connection = yield* sql.reserve
      const statement = connection.execute("select 1 as prepared", [], undefined)
      // The driver may send the first execution without a name.
      yield* Effect.repeat(statement, { times: 2 })
      yield* sql.withTransaction(Effect.andThen(sql`select 1`, statement))
    })
  ).pipe(Effect.catchIf(lostPrepared, () => new StorageUnavailable({ message: poolerAdvice })))

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
