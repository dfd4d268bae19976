import { readFileSync } from "node:fs"
import { Effect, Layer, Record, Schedule, Schema } from "effect"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import { type MigrationStatus, unreleasedSchema } from "../../domain/operations/Status.ts"
import { rowsOf } from "./Rows.ts"
import { StorageUnavailable } from "./store/DirectoryLock.ts"
import { unlimited } from "./store/StatementLimit.ts"
import { retryTransient } from "./Transient.ts"

const monthsAhead = 3

const historyTable = "quarry_migrations"
const appliedRows = rowsOf(Schema.Struct({ migration_id: Schema.Int, name: Schema.String }))

const historyTables = rowsOf(Schema.Struct({ exists: Schema.Boolean }))

type Migration = Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient>

/** The client sends one statement at a time, so the file is one PL/pgSQL block. Errors have the file's line numbers. */
export const runFile = (name: string): Migration =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => {
    const text = readFileSync(new URL(`./schema/${name}`, import.meta.url), "utf8")
    return Effect.asVoid(sql.unsafe(`do $schema$ begin ${text}\nend $schema$`))
  })

const initialFiles = [
  "accounts.sql",
  "ledger.sql",
  "verification.sql",
  "idempotency.sql",
  "query_log.sql",
  "documents.sql",
  "sign_in.sql",
  "apps.sql",
  "billing.sql",
  "events.sql",
  "secrets.sql",
  "operators.sql",
  "functions/credits/trial_mailbox.sql",
  "functions/credits/trial_scope.sql",
  "functions/credits/trial_enter.sql",
  "functions/webhooks/event_time.sql",
  "functions/webhooks/event_credits.sql",
  "functions/webhooks/event_queue_is_full.sql",
  "functions/webhooks/event_add.sql",
  "functions/webhooks/event_exhausted.sql",
  "functions/webhooks/events_of_account.sql",
  "functions/webhooks/events_of_allowance.sql",
  "functions/webhooks/events_of_keys.sql",
  "functions/webhooks/events_of_wallet.sql",
  "functions/search/idempotency_clear.sql",
  "functions/search/queries_add.sql",
  "functions/search/queries_make_partitions.sql",
  "functions/search/queries_drop_month.sql",
  "functions/operations/replicas_gone.sql",
  "functions/credits/ledger_advance.sql",
  "functions/credits/ledger_credit.sql",
  "functions/credits/ledger_take_back.sql",
  "functions/credits/ledger_grant_once.sql",
  "functions/credits/ledger_adjust.sql",
  "functions/credits/ledger_open.sql",
  "functions/credits/ledger_reserve.sql",
  "functions/credits/ledger_settle.sql",
  "functions/credits/ledger_settle_part.sql",
  "functions/credits/ledger_sweep.sql",
  "event_triggers.sql"
]

/** Functions of earlier migrations that record activity now are defined again. */
const activityFiles = [
  "activity.sql",
  "functions/accounts/account_events.sql",
  "functions/webhooks/event_add.sql",
  "functions/search/queries_make_partitions.sql",
  "activity_triggers.sql"
]

const memberBoundsFiles = [
  "functions/accounts/account_events.sql",
  "member_bounds.sql",
  "functions/credits/ledger_reserve.sql",
  "functions/credits/ledger_settle.sql",
  "functions/credits/ledger_sweep.sql"
]

/** Functions that Postgres must not compile (`jit`). */
const uncompiledFiles = [
  "functions/credits/ledger_reserve.sql",
  "functions/credits/ledger_settle.sql",
  "functions/credits/ledger_settle_part.sql",
  "functions/credits/ledger_sweep.sql"
]

const migrations: Readonly<Record<string, Migration>> = {
  "0001_initial": Effect.forEach(initialFiles, runFile, { discard: true }),
  "0002_app_use": runFile("app_use.sql"),
  "0003_members": runFile("members.sql"),
  "0004_activity": Effect.forEach(activityFiles, runFile, { discard: true }),
  "0005_single_sign_on": runFile("single_sign_on.sql"),
  "0006_member_bounds": Effect.forEach(memberBoundsFiles, runFile, { discard: true }),
  "0007_member_usage": Effect.forEach(["member_usage.sql", "functions/search/queries_add.sql"], runFile, {
    discard: true
  }),
  "0008_second_factors": runFile("second_factors.sql"),
  "0009_sign_in_places": runFile("sign_in_places.sql"),
  "0010_operators": Effect.forEach(["console.sql", "functions/accounts/account_events.sql"], runFile, {
    discard: true
  }),
  "0011_provider_pauses": Effect.forEach(["provider_pauses.sql", "operator_reads.sql"], runFile, { discard: true }),
  "0012_uncompiled": Effect.forEach(uncompiledFiles, runFile, { discard: true })
}

/** May take hours but must not wait for a lock, behind which other statements queue. `runAll` retries it. */
const withLimits = (migration: Migration): Migration =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    unlimited(sql, Effect.andThen(sql`set local lock_timeout = '2s'`, migration))
  )

export const makePartitions = (sql: SqlClient.SqlClient) =>
  sql`select queries_make_partitions(clock_timestamp(), ${monthsAhead}::integer)`

const fullName = (id: number, name: string) => `${String(id).padStart(4, "0")}_${name}`

const appliedNames = (sql: SqlClient.SqlClient) =>
  Effect.map(appliedRows(sql`select migration_id, name from ${sql(historyTable)} order by migration_id`), (rows) =>
    rows.map(({ migration_id, name }) => fullName(migration_id, name))
  )

/** The error for a database that has a different migration under one of our numbers. Undefined if there is none. */
const otherHistory = (applied: ReadonlyArray<string>, ours: ReadonlyArray<string>): StorageUnavailable | undefined => {
  const theirs = applied.find(
    (name) => !ours.includes(name) && ours.some((own) => own.slice(0, 4) === name.slice(0, 4))
  )
  return theirs === undefined ? undefined : new StorageUnavailable({ message: unreleasedSchema(theirs) })
}

/** The migrator, whose lock is held here, compares only numbers and would extend a database with another history. */
const loadChecked = (
  ours: ReadonlyArray<Migrator.ResolvedMigration>
): Effect.Effect<typeof ours, Migrator.MigrationError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const applied = yield* appliedNames(yield* SqlClient.SqlClient)
    const other = otherHistory(
      applied,
      ours.map(([id, name]) => fullName(id, name))
    )
    if (other === undefined) return ours
    return yield* new Migrator.MigrationError({ kind: "BadState", message: other.message, cause: other })
  }).pipe(
    Effect.catchTag(
      "SqlError",
      (cause) =>
        new Migrator.MigrationError({ kind: "Failed", message: "The migrations' history is unreadable", cause })
    )
  )

/** Retries when a lock wait times out: replicas that start together wait for each other's locks. */
const retryLocked = <A, E extends Migrator.MigrationError | SqlError.SqlError, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.retry(effect, {
    schedule: Schedule.spaced("1 second"),
    times: 30,
    while: (error) => {
      const failure = error._tag === "SqlError" ? error : error.cause
      return SqlError.isSqlError(failure) && failure.isRetryable && failure.reason._tag !== "ConnectionError"
    }
  })

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

export const state: Effect.Effect<MigrationStatus, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [table] = yield* historyTables(sql`select to_regclass(${historyTable}) is not null as exists`)
  const applied = table?.exists === true ? yield* appliedNames(sql) : []
  const ours = Object.keys(migrations)
  return {
    applied,
    pending: ours.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !ours.includes(name))
  }
})

/** For an empty database. Returns false and does nothing if this version lacks one of the migrations. */
export const runOnly = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
  if (names.some((name) => !Object.hasOwn(migrations, name))) return false
  yield* runAll(Record.filter(migrations, (_, name) => names.includes(name)))
  return true
})

/** Only `migrate` and the server change the schema (R74). `takesNewer` accepts the schema of a newer version. */
export const requireSchema = Effect.fnUntraced(function* ({ takesNewer }: { readonly takesNewer: boolean }) {
  const { applied, pending, unknown } = yield* state
  const unavailable = (message: string) => new StorageUnavailable({ message })
  if (applied.length === 0)
    return yield* unavailable(`The database is empty: start the server, or run \`npm run quarry -- migrate\`.`)
  const other = otherHistory(applied, Object.keys(migrations))
  if (other !== undefined) return yield* other
  if (pending.length > 0) {
    return yield* unavailable(
      `The database lacks migrations of this version (${pending.join(", ")}): run \`npm run quarry -- migrate\`, or run this ` +
        "command in the version of the running replicas."
    )
  }
  if (unknown.length > 0 && !takesNewer) {
    return yield* unavailable(
      `The database has migrations that this version does not know (${unknown.join(", ")}): run this command with the ` +
        "version that created them."
    )
  }
})

export const run = Effect.gen(function* () {
  const applied = yield* runAll(migrations)
  yield* retryLocked(retryTransient(makePartitions(yield* SqlClient.SqlClient)))
  return applied
})

export const layer: Layer.Layer<never, Migrator.MigrationError | SqlError.SqlError, SqlClient.SqlClient> =
  Layer.effectDiscard(run)
