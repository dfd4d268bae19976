import { Duration, Effect, Schedule, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { rowOf } from "./Rows.ts"
import { unlimited } from "./StatementLimit.ts"

/** An hour of an account with fewer searches is left to the log: counting it would take about as much space. */
const busySearches = 20
/** The time after an hour's end before it is counted, in case the database's clock is set back. */
const marginMinutes = 5
/** The time for which older transactions are waited for, before the next turn tries again. */
const defaultPatience = Duration.seconds(30)

const dueRow = rowOf(Schema.Struct({ until: Schema.Date, barrier: Schema.String, is_behind: Schema.Boolean }))
const overRow = rowOf(Schema.Struct({ is_over: Schema.Boolean }))
const hourRow = rowOf(Schema.Struct({ hour: Schema.Date }))

/** The moment up to which hours can be counted, and a transaction id above all that may have written before it. */
const readDue = (sql: SqlClient.SqlClient) =>
  dueRow(sql`
    with due as (
      select date_trunc('hour', clock_timestamp() - ${marginMinutes} * interval '1 minute', 'UTC') as until
    )
    select until, pg_snapshot_xmax(pg_current_snapshot())::text as barrier,
      coalesce(counted_to < until, true) as is_behind
    from due, log_upkeep`)

/** Waits for transactions that are older than the barrier: entries that they wrote in an hour may not be visible yet. */
const awaitWriters = (sql: SqlClient.SqlClient, barrier: string, patience: Duration.Duration) =>
  overRow(sql`select pg_snapshot_xmin(pg_current_snapshot()) >= ${barrier}::xid8 as is_over`).pipe(
    Effect.map((row) => row?.is_over === true),
    Effect.repeat({
      schedule: Schedule.upTo(Schedule.spaced("500 millis"), { duration: patience }),
      until: (isOver) => isOver
    })
  )

/** Counts the next hour that ended at `until` or before. False if there is none, or another replica counts it. */
const countHour = (sql: SqlClient.SqlClient, until: Date) =>
  unlimited(
    sql,
    Effect.gen(function* () {
      const next = yield* hourRow(sql`
        select hour from (
          select coalesce(counted_to, nullif(queries_retained_since(), '-infinity'), ${until}) as hour
          from log_upkeep for update skip locked
        ) as t where hour < ${until}`)
      if (next === undefined) return false
      const { hour } = next
      const end = new Date(hour.getTime() + Duration.toMillis("1 hour"))
      yield* sql`
        insert into usage_hours (
          account_id, counted_by, hour, name, searches, credits, ok, upstream_error, upstream_timeout
        )
        select account_id, counted_by, ${hour}, name, searches, credits, ok, upstream_error, upstream_timeout
        from (
          select account_id, case when grouping(target) = 0 then 'target' else 'key' end as counted_by,
            case when grouping(target) = 0 then target else coalesce(key_id, '') end as name,
            count(*) as searches, sum(credits) as credits, count(*) filter (where outcome = 'ok') as ok,
            count(*) filter (where outcome = 'upstream_error') as upstream_error,
            count(*) filter (where outcome = 'upstream_timeout') as upstream_timeout,
            sum(count(*)) over (partition by account_id, grouping(target)) as all_searches
          from queries where created_at >= ${hour} and created_at < ${end} and account_id is not null
          group by account_id, grouping sets ((target), (key_id))
        ) as t
        where all_searches >= ${busySearches}`
      yield* sql`update log_upkeep set counted_to = ${end}`
      return true
    })
  )

/**
 * Counts the searches of the hours that are over. `usage` counts from the log whatever is missing, so that it is exact
 * however far this has come.
 */
export const countHours = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, patience = defaultPatience) {
  const due = yield* readDue(sql)
  if (due?.is_behind !== true) return
  if (!(yield* awaitWriters(sql, due.barrier, patience))) return
  yield* countHour(sql, due.until).pipe(Effect.repeat({ while: (isCounted) => isCounted }))
})
