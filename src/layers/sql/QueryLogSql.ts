import { Duration, Effect, Layer, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { everything, type HistoryFilter, type HistoryQuery, type Position } from "../../domain/QueryHistory.ts"
import { maxRows, tooManyRows, type UsageBucket, type UsageQuery } from "../../domain/Usage.ts"
import { QueryLog } from "../../services/QueryLog.ts"
import { LoggedRow, LogRow, loggedColumns, toColumns, toLogged } from "./LogRow.ts"
import { makePartitions } from "./Migrations.ts"
import { columnsOf, rowOf, rowsOf } from "./Rows.ts"
import { retryTransient } from "./Transient.ts"

export interface QueryLogOptions {
  /** Age at which entries are dropped, by whole months. */
  readonly retention?: Duration.Duration | undefined
  /** Time between two rounds of maintenance, the first of which is at once. */
  readonly maintenanceInterval?: Duration.Duration | undefined
}

const defaultRetention = Duration.days(90)
const defaultMaintenanceInterval = Duration.hours(12)
/** Entries read for one page: a rare filter must not hold a connection while the whole log is read. */
const maxExamined = 25_000
/** Entries that one statement erases. */
const eraseStep = 5_000
/** Time after an account's end in which its log is erased again. */
const eraseAgainFor = Duration.days(7)
/** A month that somebody reads (`ledger verify`) harms nobody, and can be dropped later. */
const maintenanceRetry = Schedule.upTo(Schedule.spaced("1 minute"), { times: 30 })

const PositionRow = Schema.Struct({ at_micros: Schema.BigInt, ordinal: Schema.BigInt })
const HistoryRow = Schema.Struct({ ...LoggedRow.fields, ...PositionRow.fields })
const BucketRow = Schema.Struct({
  start: Schema.Date,
  group: Schema.NullOr(Schema.String),
  searches: Schema.Int,
  credits: Schema.BigInt,
  ok: Schema.Int,
  upstream_error: Schema.Int,
  upstream_timeout: Schema.Int
})

const positionRow = rowOf(PositionRow)
const historyRows = rowsOf(HistoryRow)
const bucketRows = rowsOf(BucketRow)
const removedRows = rowsOf(Schema.Struct({ id: Schema.String }))

const positionColumns = "(extract(epoch from created_at) * 1000000)::bigint as at_micros, ordinal"

const before = (sql: SqlClient.SqlClient, { atMicros, ordinal }: Position) =>
  sql`(created_at, ordinal) < (
    timestamptz 'epoch' + ${atMicros}::bigint * interval '1 microsecond', ${ordinal}::bigint
  )`

/** Entries of the account in the order of an index, narrowed by conditions that the index covers. */
const indexedEntries = (sql: SqlClient.SqlClient, accountId: string, { after, filter }: HistoryQuery) => {
  const conditions = [sql`account_id = ${accountId}`]
  if (after !== undefined) conditions.push(before(sql, after))
  if (filter.from !== undefined) conditions.push(sql`created_at >= ${new Date(filter.from)}`)
  if (filter.to !== undefined) conditions.push(sql`created_at < ${new Date(filter.to)}`)
  if (filter.id !== undefined) conditions.push(sql`id = ${filter.id}`)
  if (filter.batchId !== undefined) conditions.push(sql`batch_id = ${filter.batchId}`)
  return sql`from queries where ${sql.and(conditions)} order by created_at desc, ordinal desc`
}

/** Conditions that no index covers. */
const otherConditions = (sql: SqlClient.SqlClient, { keyId, outcome, source, target, text }: HistoryFilter) => {
  const conditions = []
  if (target !== undefined) conditions.push(sql`target = ${target}`)
  if (outcome !== undefined) conditions.push(sql`outcome = ${outcome}`)
  if (keyId !== undefined) conditions.push(sql`key_id = ${keyId}`)
  if (source !== undefined) conditions.push(sql`source = ${source}`)
  if (text !== undefined) conditions.push(sql`strpos(lower(query), lower(${text})) > 0`)
  return conditions
}

/** The last entry that a filtered page looked at; undefined when it reached the end of the log. */
const lastExamined = (sql: SqlClient.SqlClient, accountId: string, query: HistoryQuery) =>
  Effect.map(
    positionRow(
      sql`select ${sql.literal(positionColumns)} ${indexedEntries(sql, accountId, query)}
        offset ${maxExamined - 1} limit 1`
    ),
    (row) => (row === undefined ? undefined : toPosition(row))
  )

const history = (sql: SqlClient.SqlClient) => {
  const columns = sql.literal(`${loggedColumns}, ${positionColumns}`)
  return Effect.fn("QueryLog.history")(function* (accountId: string, query: HistoryQuery) {
    const conditions = otherConditions(sql, query.filter)
    const entries = indexedEntries(sql, accountId, query)
    // One more than wanted shows that there is a next page.
    const wanted = query.limit + 1
    const rows = yield* retryTransient(
      historyRows(
        conditions.length === 0
          ? sql`select ${columns} ${entries} limit ${wanted}`
          : sql`
            select ${columns} from (select * ${entries} limit ${maxExamined}) as examined
            where ${sql.and(conditions)} order by created_at desc, ordinal desc limit ${wanted}`
      )
    )
    const page = rows.slice(0, query.limit)
    const last = page.at(-1)
    if (rows.length === wanted && last !== undefined) {
      return { entries: page.map(toLogged), next: toPosition(last) }
    }
    const next = conditions.length === 0 ? undefined : yield* retryTransient(lastExamined(sql, accountId, query))
    return { entries: page.map(toLogged), next }
  }, Effect.orDie)
}

const usage = (sql: SqlClient.SqlClient) =>
  Effect.fn("QueryLog.usage")(
    function* (accountId: string, { from, granularity, groupBy, to }: UsageQuery) {
      const group = groupBy === undefined ? sql`null::text` : groupBy === "target" ? sql`target` : sql`key_id`
      const rows = yield* retryTransient(
        bucketRows(sql`
          select date_trunc(${granularity}, created_at, 'UTC') as start, ${group} as group,
            count(*)::int as searches, sum(credits)::bigint as credits,
            count(*) filter (where outcome = 'ok')::int as ok,
            count(*) filter (where outcome = 'upstream_error')::int as upstream_error,
            count(*) filter (where outcome = 'upstream_timeout')::int as upstream_timeout
          from queries
          where account_id = ${accountId} and created_at >= ${new Date(from)} and created_at < ${new Date(to)}
          group by 1, 2 order by 1, 2 limit ${maxRows + 1}`)
      )
      return rows.length > maxRows ? yield* tooManyRows : rows.map(toBucket)
    },
    Effect.catchTag("SqlError", Effect.die)
  )

/** Erases one step of the account's texts, and answers the position of the oldest entry in it. */
const eraseStepAfter = (sql: SqlClient.SqlClient, accountId: string, after: Position | undefined) =>
  positionRow(sql`
    with page as (
      select id, created_at, ordinal
      ${indexedEntries(sql, accountId, { filter: everything, after, limit: eraseStep })} limit ${eraseStep}
    ), erased as (
      update queries q set query = '', source = '' from page p
      where q.id = p.id and q.created_at = p.created_at and (q.query <> '' or q.source <> '')
    )
    select ${sql.literal(positionColumns)} from page order by created_at, ordinal limit 1`)

/** Reads the account's log once, whatever is logged meanwhile, and so ends. */
const erase = (sql: SqlClient.SqlClient) =>
  Effect.fn("QueryLog.erase")(function* (accountId: string) {
    let after: Position | undefined
    do {
      const row = yield* retryTransient(eraseStepAfter(sql, accountId, after))
      after = row === undefined ? undefined : toPosition(row)
    } while (after !== undefined)
    yield* retryTransient(sql`delete from idempotency_keys where account_id = ${accountId}`)
  })

/** Erases the texts of removed accounts that a crash or a search still running at their removal left behind. */
const eraseLeftovers = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const removed = yield* removedRows(sql`
      select id from accounts
      where deleted_at > clock_timestamp() - ${Duration.toMillis(eraseAgainFor)}::bigint * interval '1 millisecond'`)
    yield* Effect.forEach(removed, ({ id }) => erase(sql)(id), { discard: true })
  })

/** One round of maintenance. It fails when a month that is to be dropped is being read for too long. */
const maintain = (sql: SqlClient.SqlClient, retention: Duration.Duration) =>
  makePartitions(sql).pipe(
    Effect.andThen(
      sql`select queries_drop_before(
        clock_timestamp() - ${Duration.toMillis(retention)}::bigint * interval '1 millisecond'
      )`
    ),
    Effect.andThen(eraseLeftovers(sql)),
    Effect.retry(maintenanceRetry),
    Effect.catchCause((cause) => Effect.logWarning("The query log's months could not be maintained.", cause))
  )

/** The log in Postgres or PGlite. It makes and drops the log's months for as long as it lives. */
export const layer = (options: QueryLogOptions = {}): Layer.Layer<QueryLog, never, SqlClient.SqlClient> =>
  Layer.effect(
    QueryLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const page = history(sql)
      const eraseAll = erase(sql)
      const columns = sql.literal(columnsOf(LogRow))
      yield* maintain(sql, options.retention ?? defaultRetention).pipe(
        Effect.repeat(Schedule.spaced(options.maintenanceInterval ?? defaultMaintenanceInterval)),
        Effect.forkScoped
      )
      return QueryLog.of({
        append: Effect.fn("QueryLog.append")(function* (records) {
          if (records.length === 0) return
          const rows = JSON.stringify(records.map(toColumns))
          yield* sql`
            insert into queries (${columns}) select ${columns} from json_populate_recordset(null::queries, ${rows}::json)`
        }, Effect.orDie),
        recent: (accountId, limit) =>
          Effect.map(page(accountId, { filter: everything, after: undefined, limit }), ({ entries }) => entries),
        history: page,
        usage: usage(sql),
        erase: (accountId) => Effect.orDie(eraseAll(accountId))
      })
    })
  )

const toPosition = (row: typeof PositionRow.Type): Position => ({ atMicros: row.at_micros, ordinal: row.ordinal })

const toBucket = (row: typeof BucketRow.Type): UsageBucket => ({
  start: row.start.getTime(),
  group: row.group ?? undefined,
  searches: row.searches,
  credits: Number(row.credits),
  outcomes: { ok: row.ok, upstream_error: row.upstream_error, upstream_timeout: row.upstream_timeout }
})
