import { Duration, Effect, Schedule, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { rowOf, rowsOf } from "../Rows.ts"
import { outcomeColumns, outcomeCounts } from "../search/LogRow.ts"
import { unlimited } from "../store/StatementLimit.ts"

/** An hour with fewer searches of an account stays in the log only: its counts would take about as much space. */
const busySearches = 20
/** Delay after an hour's end before it is counted, in case the database's clock is set back. */
const marginMinutes = 5
/** Maximum wait for open transactions before the next run retries. */
const defaultPatience = Duration.seconds(30)

const dueRow = rowOf(Schema.Struct({ until: Schema.Date, is_behind: Schema.Boolean }))
const writerRows = rowsOf(Schema.Struct({ virtualtransaction: Schema.String }))
const overRow = rowOf(Schema.Struct({ is_over: Schema.Boolean }))
const hourRow = rowOf(Schema.Struct({ hour: Schema.Date }))

/**
 * Matches the lock that a transaction takes on the log before it writes an entry, and so before the entry gets its
 * time.
 */
const writersLock = `locktype = 'relation' and mode = 'RowExclusiveLock' and relation = 'queries'::regclass
  and database = (select oid from pg_database where datname = current_database())`

const readDue = (sql: SqlClient.SqlClient) =>
  dueRow(sql`
    with due as (
      select date_trunc('hour', clock_timestamp() - ${marginMinutes} * interval '1 minute', 'UTC') as until
    )
    select until, coalesce(counted_to <> until, true) as is_behind from due, log_upkeep`)

/** Transactions that start later write later hours than the time read before. */
const readWriters = (sql: SqlClient.SqlClient) =>
  writerRows(sql`select distinct virtualtransaction from pg_locks where ${sql.literal(writersLock)}`)

/** Waits until these transactions end, because their rows are not visible before. */
const awaitWriters = (sql: SqlClient.SqlClient, writers: ReadonlyArray<string>, patience: Duration.Duration) =>
  overRow(sql`
    select not exists (
      select from pg_locks where ${sql.literal(writersLock)} and virtualtransaction = any (${writers}::text[])
    ) as is_over`).pipe(
    Effect.map((row) => row?.is_over === true),
    Effect.repeat({
      schedule: Schedule.upTo(Schedule.spaced("500 millis"), { duration: patience }),
      until: (isOver) => isOver
    })
  )

/** Uncounts hours that were counted before the database's clock was set back: new searches are logged in them. */
const recall = (sql: SqlClient.SqlClient, until: Date) => sql`
  with recalled as (
    update log_upkeep set counted_to = ${until} where counted_to > ${until} returning counted_to
  )
  delete from usage_hours where hour >= (select counted_to from recalled)`

/** Starts at the log's first entry. False if no hour is due, or if another replica is counting it. */
const countHour = (sql: SqlClient.SqlClient, until: Date) =>
  unlimited(
    sql,
    Effect.gen(function* () {
      // Only the first run searches the log for its first entry, but each would compile that search, for a second or more.
      yield* sql`set local jit = off`
      const next = yield* hourRow(sql`
        select hour from (
          select coalesce(counted_to, (select date_trunc('hour', min(created_at), 'UTC') from queries), ${until}) as hour
          from log_upkeep for update skip locked
        ) as t where hour < ${until}`)
      if (next === undefined) return false
      const { hour } = next
      const end = new Date(hour.getTime() + Duration.toMillis("1 hour"))
      yield* sql`
        insert into usage_hours (
          account_id, counted_by, hour, name, searches, credits, ${sql.literal(outcomeColumns)}
        )
        select account_id, counted_by, ${hour}, name, searches, credits, ${sql.literal(outcomeColumns)}
        from (
          select account_id,
            case grouping(target, key_id) when 1 then 'target' when 2 then 'key' else 'member' end as counted_by,
            coalesce(target, key_id, person_id, '') as name,
            count(*) as searches, sum(credits) as credits, ${sql.literal(outcomeCounts)},
            sum(count(*)) over (partition by account_id, grouping(target, key_id)) as all_searches
          from queries where created_at >= ${hour} and created_at < ${end} and account_id is not null
          group by account_id, grouping sets ((target), (key_id), (person_id))
        ) as t
        where all_searches >= ${busySearches}`
      yield* sql`update log_upkeep set counted_to = ${end}`
      return true
    })
  )

/** `usage` reads uncounted hours from the log, so it is exact regardless of progress here. */
export const countHours = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, patience = defaultPatience) {
  const due = yield* readDue(sql)
  if (due?.is_behind !== true) return
  yield* recall(sql, due.until)
  const writers = yield* readWriters(sql)
  const ids = writers.map(({ virtualtransaction }) => virtualtransaction)
  if (!(yield* awaitWriters(sql, ids, patience))) return
  yield* countHour(sql, due.until).pipe(Effect.repeat({ while: (isCounted) => isCounted }))
})
