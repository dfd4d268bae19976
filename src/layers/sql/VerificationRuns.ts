import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { rowOf } from "./Rows.ts"
import { type Findings, verifyAll } from "./Verification.ts"

/** The hour of the day in UTC at which a night's run is due. */
const nightHour = 3
/** Without progress for so long, the replica that runs it is gone, and another takes over. */
const leaseMinutes = 30
const keptDays = 90

const idRow = rowOf(Schema.Struct({ id: Schema.BigInt }))

/**
 * Takes this night's run, by the database's clock. Undefined when the run is done, or another replica is at it. A night
 * that was missed is made up for by the first replica that starts.
 */
export const takeNight = (sql: SqlClient.SqlClient) =>
  idRow(sql`
    with due as (select (clock_timestamp() at time zone 'utc' - ${nightHour} * interval '1 hour')::date as night)
    insert into ledger_verifications as v (night, lease_until)
    select night, clock_timestamp() + ${leaseMinutes} * interval '1 minute' from due
    where not exists (
      select from ledger_verifications o
      where o.night = due.night and (o.finished_at is not null or o.lease_until > clock_timestamp())
    )
    on conflict (night) do update set started_at = clock_timestamp(), lease_until = excluded.lease_until
    where v.finished_at is null and v.lease_until <= clock_timestamp()
    returning id`)

/** Begins the run of an operator, who waits for it: nobody takes it over. */
const begin = (sql: SqlClient.SqlClient) => idRow(sql`insert into ledger_verifications default values returning id`)

const finish = (sql: SqlClient.SqlClient, id: bigint, { accounts, problems }: Findings) => sql`
  update ledger_verifications set finished_at = clock_timestamp(), accounts = ${accounts},
    quota_problems = ${problems.quota}, balance_problems = ${problems.balance}, log_problems = ${problems.log}
  where id = ${id}`

const deleteOldRuns = (sql: SqlClient.SqlClient) => sql`
  delete from ledger_verifications where started_at < clock_timestamp() - ${keptDays} * interval '1 day'`

/** Verifies all books and keeps what was found: metrics of every replica read the last run. */
export const verify = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  taken?: bigint
): Effect.fn.Return<Findings, SqlError.SqlError> {
  const id = taken ?? (yield* begin(sql))?.id ?? 0n
  const findings = yield* verifyAll(
    sql,
    () => sql`
      update ledger_verifications set lease_until = clock_timestamp() + ${leaseMinutes} * interval '1 minute'
      where id = ${id} and night is not null`
  )
  yield* finish(sql, id, findings)
  yield* deleteOldRuns(sql)
  return findings
})

const lastRow = rowOf(
  Schema.Struct({
    finished_at: Schema.Date,
    seconds: Schema.Number,
    accounts: Schema.BigInt,
    quota_problems: Schema.BigInt,
    balance_problems: Schema.BigInt,
    log_problems: Schema.BigInt
  })
)

/** The run that finished last; undefined before the first. */
export const readLast = (sql: SqlClient.SqlClient) =>
  lastRow(sql`
    select finished_at, extract(epoch from finished_at - started_at)::float8 as seconds, accounts, quota_problems,
      balance_problems, log_problems
    from ledger_verifications where finished_at is not null order by finished_at desc limit 1`)
