import { Data, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Readiness } from "../../services/Readiness.ts"
import { rowOf } from "./Rows.ts"

/** The database answers but takes no writes, as a standby does that was not promoted. */
class DatabaseReadOnly extends Data.TaggedError("DatabaseReadOnly") {
  override readonly message = "The database is read-only."
}

const modeOf = rowOf(Schema.Struct({ read_only: Schema.Boolean }))

/** More rows than 64 kB hold, so that Postgres writes them to a temporary file. */
const spilledRows = 6_000

/**
 * Does what a settlement needs of the database, and leaves nothing behind: disk space, shown by a temporary file, and a
 * commit that reaches the write-ahead log and the standbys that must confirm it. A row that is written and rolled back
 * would show neither, because there is room for it in pages that exist already.
 */
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

/** The checks that the database reads, and that it would write. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const readiness = yield* Readiness
    yield* readiness.add("database_read", sql`SELECT 1`)
    yield* readiness.add("database_write", write(sql))
  })
)
