import { Effect, Layer, Record, Schedule } from "effect"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import { storage } from "./migrations/0001_storage.ts"
import { documents } from "./migrations/0002_documents.ts"
import { signIn } from "./migrations/0003_sign_in.ts"
import { waits } from "./migrations/0005_waits.ts"
import { callers } from "./migrations/0006_callers.ts"
import { apps } from "./migrations/0007_apps.ts"
import { ledger } from "./migrations/0008_ledger.ts"
import { attempts } from "./migrations/0009_attempts.ts"
import { unlimited } from "./StatementLimit.ts"
import { retryTransient } from "./Transient.ts"

/** Months of the query log that have their partitions made ahead of time, the current one included. */
const monthsAhead = 3

/**
 * On a large database a change may take as long as it takes, but it must not wait for a table that others use:
 * everybody else would wait behind it. It is tried again instead, with the run.
 */
const change = (migration: Migration) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    unlimited(sql, Effect.andThen(sql`set local lock_timeout = '2s'`, migration))
  )

/** Makes the months of the query log that are missing. */
export const makePartitions = (sql: SqlClient.SqlClient) =>
  sql`select queries_make_partitions(clock_timestamp(), ${monthsAhead}::integer)`

type Migration = Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient>

/**
 * Brings the database to the schema of these migrations. Replicas may start at once: the migrator holds the lock on its
 * own table for as long as it works, and one that waited longer than a timeout, for it or for a table in use, tries
 * again.
 */
export const runAll = (
  migrations: Readonly<Record<string, Migration>>
): Effect.Effect<
  ReadonlyArray<readonly [id: number, name: string]>,
  Migrator.MigrationError | SqlError.SqlError,
  SqlClient.SqlClient
> =>
  Migrator.make({})({
    table: "quarry_migrations",
    loader: Migrator.fromRecord(Record.map(migrations, change))
  }).pipe(
    Effect.retry({
      schedule: Schedule.spaced("1 second"),
      times: 30,
      while: (error) => {
        const failure = error._tag === "SqlError" ? error : error.cause
        return SqlError.isSqlError(failure) && failure.isRetryable && failure.reason._tag !== "ConnectionError"
      }
    })
  )

/** Brings the database to the present schema, and makes the months of the log that are missing. */
export const run = Effect.gen(function* () {
  const applied = yield* runAll({
    "0001_storage": storage,
    "0002_documents": documents,
    "0003_sign_in": signIn,
    "0005_waits": waits,
    "0006_callers": callers,
    "0007_apps": apps,
    "0008_ledger": ledger,
    "0009_attempts": attempts
  })
  yield* retryTransient(makePartitions(yield* SqlClient.SqlClient))
  return applied
})

export const layer: Layer.Layer<never, Migrator.MigrationError | SqlError.SqlError, SqlClient.SqlClient> =
  Layer.effectDiscard(run)
