import { Effect, Layer, Schedule } from "effect"
import { Migrator, SqlClient, type SqlError } from "effect/sql"
import { storage } from "./migrations/0001_storage.ts"
import { documents } from "./migrations/0002_documents.ts"
import { callers } from "./migrations/0004_callers.ts"

/** Months of the query log that have their partitions made ahead of time, the current one included. */
const monthsAhead = 3

const migrate = Migrator.make({})({
  table: "quarry_migrations",
  loader: Migrator.fromRecord({
    "0001_storage": storage,
    "0002_documents": documents,
    "0004_callers": callers
  })
})

/** Makes the months of the query log that are missing. */
export const makePartitions = (sql: SqlClient.SqlClient) =>
  sql`select queries_make_partitions(clock_timestamp(), ${monthsAhead}::integer)`

/**
 * Brings the database to the present schema. Replicas may start at once: the migrator holds the lock on its own table
 * for as long as it works, and one that waited longer than the statement timeout for it tries again.
 */
export const run: Effect.Effect<
  ReadonlyArray<readonly [id: number, name: string]>,
  Migrator.MigrationError | SqlError.SqlError,
  SqlClient.SqlClient
> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const applied = yield* migrate
  yield* makePartitions(sql)
  return applied
}).pipe(
  Effect.retry({
    schedule: Schedule.spaced("1 second"),
    times: 30,
    while: (error) => error._tag === "SqlError" && error.isRetryable && error.reason._tag !== "ConnectionError"
  })
)

export const layer: Layer.Layer<never, Migrator.MigrationError | SqlError.SqlError, SqlClient.SqlClient> =
  Layer.effectDiscard(run)
