import { Data, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Readiness } from "../../../services/operations/Readiness.ts"
import { rowOf } from "../Rows.ts"

/** For example a standby that has not been promoted. */
class DatabaseReadOnly extends Data.TaggedError("DatabaseReadOnly") {
  override readonly message = "The database is read-only."
}

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
      if (mode?.read_only === true) return yield* new DatabaseReadOnly()
      yield* sql`set local work_mem = '64kB'`
      yield* sql`select count(*) from generate_series(1, ${spilledRows}::int)`
      yield* sql`select pg_logical_emit_message(true, 'quarry.readiness', '')::text as position`
    })
  )

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const readiness = yield* Readiness
    yield* readiness.add("database_read", sql`SELECT 1`)
    yield* readiness.add("database_write", write(sql))
  })
)
