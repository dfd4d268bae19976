import { readFileSync } from "node:fs"
import { Effect, Layer, Record, Schedule, Schema } from "effect"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import type { MigrationStatus } from "../../domain/Status.ts"
import { StorageUnavailable } from "./DirectoryLock.ts"
import * as DocumentLoad from "./DocumentLoad.ts"
import { rowsOf } from "./Rows.ts"
import { unlimited } from "./StatementLimit.ts"
import { retryTransient } from "./Transient.ts"

/** Months of the query log for which partitions are made ahead of time, the current one included. */
const monthsAhead = 3

const historyTable = "quarry_migrations"
const appliedRows = rowsOf(Schema.Struct({ migration_id: Schema.Int, name: Schema.String }))

const historyTables = rowsOf(Schema.Struct({ exists: Schema.Boolean }))

type Migration = Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient>

/**
 * Runs a file of `schema/`. The client sends one statement at a time, so the file is sent as one block of PL/pgSQL, and
 * the server finds the ends of its statements. A line number in an error is a line of the file.
 */
export const runFile = (name: string): Migration =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => {
    const text = readFileSync(new URL(`./schema/${name}`, import.meta.url), "utf8")
    return Effect.asVoid(sql.unsafe(`do $schema$ begin ${text}\nend $schema$`))
  })

/** In the order in which they refer to each other. */
const files = [
  "accounts.sql",
  "ledger.sql",
  "query_log.sql",
  "documents.sql",
  "sign_in.sql",
  "apps.sql",
  "functions/ledger_reserve.sql",
  "functions/ledger_settle.sql",
  "functions/ledger_open.sql",
  "functions/ledger_grant.sql",
  "functions/ledger_sweep.sql",
  "functions/queries_make_partitions.sql",
  "functions/queries_drop_before.sql"
]

/** Payments, and the functions of the ledger that know what is owed and which change of plan is due. */
const billingFiles = [
  "billing.sql",
  "functions/ledger_advance.sql",
  "functions/ledger_credit.sql",
  "functions/ledger_take_back.sql",
  "functions/ledger_grant.sql",
  "functions/ledger_grant_once.sql",
  "functions/ledger_open.sql",
  "functions/ledger_reserve.sql",
  "functions/ledger_adjust.sql"
]

/** The keys by which clients repeat requests, and the functions that write them with holds and charges. */
const idempotencyFiles = [
  "idempotency.sql",
  "functions/idempotency_clear.sql",
  "functions/ledger_reserve_keyed.sql",
  "functions/ledger_settle_keyed.sql"
]

/** The bounds of API keys, and the functions that count their budgets. */
const keyBoundsFiles = [
  "key_bounds.sql",
  "functions/ledger_reserve_budgeted.sql",
  "functions/ledger_reserve_keyed_budgeted.sql",
  "functions/ledger_reserve_keyed.sql",
  "functions/ledger_settle.sql",
  "functions/ledger_sweep.sql"
]

/** Events of accounts for their customers (R53). The functions come before the triggers that name them. */
const eventsFiles = [
  "functions/events_of_allowance.sql",
  "functions/events_of_wallet.sql",
  "functions/events_of_account.sql",
  "functions/events_of_keys.sql",
  "events.sql",
  "functions/event_time.sql",
  "functions/event_add.sql",
  "functions/event_exhausted.sql",
  "functions/ledger_credit.sql",
  "functions/ledger_adjust.sql"
]

/** Functions for what several others wrote by themselves: log entries of settlements, and the figures of credits in events. */
const sharedFunctionsFiles = [
  "functions/event_credits.sql",
  "functions/event_exhausted.sql",
  "functions/events_of_allowance.sql",
  "functions/events_of_wallet.sql",
  "functions/queries_add.sql",
  "functions/ledger_settle.sql",
  "functions/ledger_settle_part.sql",
  "functions/ledger_reserve_budgeted.sql",
  "functions/ledger_reserve_keyed_budgeted.sql"
]

/** Queues of deliveries that accounts share fairly, and that end when their address or their account does (R53). */
const eventQueuesFiles = ["event_queues.sql", "functions/event_queue_is_full.sql", "functions/event_add.sql"]

/** The mailboxes that trials are granted to, and the function of the ledger that enters a trial (R32). */
const trialMailboxesFiles = [
  "functions/trial_mailbox.sql",
  "functions/trial_scope.sql",
  "functions/trial_enter.sql",
  "functions/ledger_advance.sql",
  "trial_mailboxes.sql"
]

/** The documents that are there get their terms, which are made in TypeScript. */
const documentsTerms: Migration = Effect.gen(function* () {
  yield* runFile("documents_terms.sql")
  yield* runFile("functions/documents_find.sql")
  yield* DocumentLoad.copyUnread(yield* SqlClient.SqlClient)
})

/** The first migration, on which tests run the later ones. */
export const firstSchema: Migration = Effect.forEach(files, runFile, { discard: true })

const migrations: Readonly<Record<string, Migration>> = {
  "0001_schema": firstSchema,
  "0002_books": Effect.forEach(["books.sql", "functions/ledger_adjust.sql", "secrets.sql"], runFile, { discard: true }),
  "0003_log_reasons": Effect.forEach(["log_reasons.sql", "functions/ledger_settle.sql"], runFile, { discard: true }),
  "0004_operators": Effect.forEach(["operators.sql", "functions/ledger_grant_once.sql"], runFile, { discard: true }),
  "0005_inspection": runFile("inspection.sql"),
  "0006_documents_terms": documentsTerms,
  "0007_billing": Effect.forEach(billingFiles, runFile, { discard: true }),
  "0008_settle_part": runFile("functions/ledger_settle_part.sql"),
  "0010_documents_find": runFile("functions/documents_find.sql"),
  "0011_idempotency": Effect.forEach(idempotencyFiles, runFile, { discard: true }),
  "0012_key_bounds": Effect.forEach(keyBoundsFiles, runFile, { discard: true }),
  "0013_events": Effect.forEach(eventsFiles, runFile, { discard: true }),
  "0014_reserve_again": runFile("functions/ledger_reserve.sql"),
  "0015_shared_functions": Effect.forEach(sharedFunctionsFiles, runFile, { discard: true }),
  "0016_event_queues": Effect.forEach(eventQueuesFiles, runFile, { discard: true }),
  "0017_trial_mailboxes": Effect.forEach(trialMailboxesFiles, runFile, { discard: true })
}

/**
 * A migration of a large database may take hours, but it must not wait for a table in use: everybody else would wait
 * behind it. It fails instead, and `runAll` tries again.
 */
const withLimits = (migration: Migration): Migration =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    unlimited(sql, Effect.andThen(sql`set local lock_timeout = '2s'`, migration))
  )

/** Makes the partitions of the query log that are missing. */
export const makePartitions = (sql: SqlClient.SqlClient) =>
  sql`select queries_make_partitions(clock_timestamp(), ${monthsAhead}::integer)`

const otherHistory = (id: number, theirs: string, ours: string): Migrator.MigrationError => {
  const message =
    `The database has migration ${id} under the name "${theirs}", and this version has "${ours}": the database was ` +
    "made by a version before 0.1.0, or is not Quarry's. Use an empty one: another DATABASE_URL or DATA_DIR."
  return new Migrator.MigrationError({ kind: "BadState", message, cause: new StorageUnavailable({ message }) })
}

/**
 * Refuses a database with another history: the migrator compares numbers only, and would add the rest of this schema to
 * one that it does not fit. The migrator loads migrations after it has locked its table.
 */
const loadChecked = (
  ours: ReadonlyArray<Migrator.ResolvedMigration>
): Effect.Effect<typeof ours, Migrator.MigrationError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const theirs = yield* appliedRows(sql`select migration_id, name from ${sql(historyTable)}`)
    const names = new Map(theirs.map(({ migration_id, name }) => [migration_id, name]))
    for (const [id, name] of ours) {
      const applied = names.get(id)
      if (applied !== undefined && applied !== name) return yield* otherHistory(id, applied, name)
    }
    return ours
  }).pipe(
    Effect.catchTag(
      "SqlError",
      (cause) =>
        new Migrator.MigrationError({ kind: "Failed", message: "The migrations' history is unreadable", cause })
    )
  )

/** Replicas that start together wait for each other's locks, and each wait has a timeout. */
const retryLocked = <A, E extends Migrator.MigrationError | SqlError.SqlError, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.retry(effect, {
    schedule: Schedule.spaced("1 second"),
    times: 30,
    while: (error) => {
      const failure = error._tag === "SqlError" ? error : error.cause
      return SqlError.isSqlError(failure) && failure.isRetryable && failure.reason._tag !== "ConnectionError"
    }
  })

/**
 * Brings the database to the schema of these migrations. Replicas may start at once: the migrator holds the lock on its
 * own table until it is done, and one that waited for a lock longer than a timeout tries again.
 */
export const runAll = (
  migrations: Readonly<Record<string, Migration>>
): Effect.Effect<
  ReadonlyArray<readonly [id: number, name: string]>,
  Migrator.MigrationError | SqlError.SqlError,
  SqlClient.SqlClient
> =>
  Migrator.make({})({
    table: historyTable,
    loader: Effect.flatMap(Migrator.fromRecord(Record.map(migrations, withLimits)), loadChecked)
  }).pipe(retryLocked)

/** Compares the migrations of the database with those of this version, and changes nothing. */
export const state: Effect.Effect<MigrationStatus, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [table] = yield* historyTables(sql`select to_regclass(${historyTable}) is not null as exists`)
  const applied =
    table?.exists === true
      ? (yield* appliedRows(sql`select migration_id, name from ${sql(historyTable)} order by migration_id`)).map(
          ({ migration_id, name }) => `${String(migration_id).padStart(4, "0")}_${name}`
        )
      : []
  const ours = Object.keys(migrations)
  return {
    applied,
    pending: ours.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !ours.includes(name))
  }
})

/** Brings the database to the present schema, and makes the log's partitions that are missing. */
export const run = Effect.gen(function* () {
  const applied = yield* runAll(migrations)
  yield* retryLocked(retryTransient(makePartitions(yield* SqlClient.SqlClient)))
  return applied
})

export const layer: Layer.Layer<never, Migrator.MigrationError | SqlError.SqlError, SqlClient.SqlClient> =
  Layer.effectDiscard(run)
