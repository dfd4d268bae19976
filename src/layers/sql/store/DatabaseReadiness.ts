import { Effect, Layer, Schema } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { Readiness } from "../../../services/operations/Readiness.ts"
import { rowOf } from "../Rows.ts"
import { isTransient } from "../Transient.ts"

/**
 * For a standby that has not been promoted, or a session that began while writes were off. An error of the database, so
 * that the connection is closed: its session would stay read-only.
 */
const failReadOnly = (sql: SqlClient.SqlClient) =>
  sql.unsafe("do $$ begin raise read_only_sql_transaction using message = 'The database is read-only.'; end $$")

const modeOf = rowOf(Schema.Struct({ read_only: Schema.Boolean }))

/** Exceeds 64 kB, so that Postgres writes a temporary file. */
const spilledRows = 6_000

/** The temporary file checks disk space, and the commit checks the write-ahead log and required standbys. */
const write = (sql: SqlClient.SqlClient) =>
  sql.withTransaction(
    Effect.gen(function* () {
      const mode = yield* modeOf(
        sql`select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only`
      )
      if (mode?.read_only === true) yield* failReadOnly(sql)
      yield* sql`set local work_mem = '64kB'`
      yield* sql`select count(*) from generate_series(1, ${spilledRows}::int)`
      yield* sql`select pg_logical_emit_message(true, 'quarry.readiness', '')::text as position`
    })
  )

/** A session that the server has ended, or that began while writes were off, does not speak for the database. */
const onAnySession = <A, E>(check: Effect.Effect<A, E>) =>
  Effect.retry(check, { times: 2, while: (error) => SqlError.isSqlError(error) && isTransient(error) })

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const readiness = yield* Readiness
    yield* readiness.add("database_read", onAnySession(sql`SELECT 1`))
    yield* readiness.add("database_write", onAnySession(write(sql)))
  })
)
