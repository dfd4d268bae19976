import { Array as Arr, Duration, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { everything, type HistoryFilter, type HistoryQuery, type Position } from "../../domain/QueryHistory.ts"
import type { Outcome } from "../../domain/QueryRecord.ts"
import type { Safe, Target } from "../../domain/Target.ts"
import { maxRows, tooManyRows, type UsageBucket, type UsageQuery } from "../../domain/Usage.ts"
import { type LoggedQuery, QueryLog } from "../../services/QueryLog.ts"
import { makePartitions } from "./Migrations.ts"
import { toColumns } from "./QueryRow.ts"
import { retryTransient } from "./Transient.ts"

export interface QueryLogOptions {
  /** How long entries are kept. They go by whole months. */
  readonly retention?: Duration.Duration | undefined
  /** How often months are made and dropped, after the first time at once. */
  readonly maintenanceInterval?: Duration.Duration | undefined
}

const defaultRetention = Duration.days(90)
const defaultMaintenanceInterval = Duration.hours(12)
/** Entries that one page looks at: a filter that few pass must not hold a connection for a walk through the whole log. */
const maxExamined = 25_000
/** Entries that one statement erases. */
const eraseStep = 5_000
/** How long after an account's end its log is looked at again. */
const eraseAgainFor = Duration.days(7)
/** A month that somebody reads (`ledger verify`) is in nobody's way, and waits to be dropped. */
const maintenanceRetry = Schedule.upTo(Schedule.spaced("1 minute"), { times: 30 })

interface Row {
  readonly id: string
  readonly account_id: string | null
  readonly key_id: string | null
  readonly batch_id: string | null
  readonly target: Target
  readonly query: string
  readonly geo: string
  readonly locale: string
  readonly page: number
  readonly num: number
  readonly safe: Safe
  readonly source: string
  readonly outcome: Outcome
  readonly credits: number
  readonly cached: boolean
  readonly provider: string | null
  readonly result_count: number
  readonly duration_ms: bigint
  readonly created_at: Date
}

interface PositionRow {
  readonly at_micros: bigint
  readonly ordinal: bigint
}

interface BucketRow {
  readonly start: Date
  readonly group: string | null
  readonly searches: number
  readonly credits: bigint
  readonly ok: number
  readonly upstream_error: number
  readonly upstream_timeout: number
}

/** The log in Postgres or PGlite. It makes and drops the log's months for as long as it lives. */
export const layer = (options: QueryLogOptions = {}): Layer.Layer<QueryLog, never, SqlClient.SqlClient> =>
  Layer.effect(
    QueryLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const retentionMs = Duration.toMillis(options.retention ?? defaultRetention)

      const position = sql`(extract(epoch from created_at) * 1000000)::bigint as at_micros, ordinal`

      const before = ({ atMicros, ordinal }: Position) =>
        sql`(created_at, ordinal) < (
          timestamptz 'epoch' + ${atMicros}::bigint * interval '1 microsecond', ${ordinal}::bigint
        )`

      /** The account's entries that an index leads to, in the order of their positions. */
      const stretch = (accountId: string, { after, filter }: HistoryQuery) => {
        const conditions = [sql`account_id = ${accountId}`]
        if (after !== undefined) conditions.push(before(after))
        if (filter.from !== undefined) conditions.push(sql`created_at >= ${new Date(filter.from)}`)
        if (filter.to !== undefined) conditions.push(sql`created_at < ${new Date(filter.to)}`)
        if (filter.batchId !== undefined) conditions.push(sql`batch_id = ${filter.batchId}`)
        return sql`from queries where ${sql.and(conditions)} order by created_at desc, ordinal desc`
      }

      const conditionsOf = ({ keyId, outcome, source, target, text }: HistoryFilter) => {
        const conditions = []
        if (target !== undefined) conditions.push(sql`target = ${target}`)
        if (outcome !== undefined) conditions.push(sql`outcome = ${outcome}`)
        if (keyId !== undefined) conditions.push(sql`key_id = ${keyId}`)
        if (source !== undefined) conditions.push(sql`source = ${source}`)
        if (text !== undefined) conditions.push(sql`strpos(lower(query), lower(${text})) > 0`)
        return conditions
      }

      /** Where the walk went out of breath; undefined when it came to the end of the log. */
      const lastExamined = Effect.fnUntraced(function* (accountId: string, query: HistoryQuery) {
        const [row] = yield* sql<PositionRow>`
          select ${position} ${stretch(accountId, query)} offset ${maxExamined - 1} limit 1`
        return row === undefined ? undefined : toPosition(row)
      })

      const history = Effect.fn("QueryLog.history")(function* (accountId: string, query: HistoryQuery) {
        const conditions = conditionsOf(query.filter)
        // One more than wanted tells whether there is a next page.
        const wanted = query.limit + 1
        const rows = yield* retryTransient(
          conditions.length === 0
            ? sql<Row & PositionRow>`select *, ${position} ${stretch(accountId, query)} limit ${wanted}`
            : sql<Row & PositionRow>`
              select *, ${position} from (select * ${stretch(accountId, query)} limit ${maxExamined}) as examined
              where ${sql.and(conditions)} order by created_at desc, ordinal desc limit ${wanted}`
        )
        const page = rows.slice(0, query.limit)
        const last = page.at(-1)
        if (rows.length === wanted && last !== undefined) {
          return { entries: page.map(toLogged), next: toPosition(last) }
        }
        const next = conditions.length === 0 ? undefined : yield* retryTransient(lastExamined(accountId, query))
        return { entries: page.map(toLogged), next }
      }, Effect.orDie)

      const usage = Effect.fn("QueryLog.usage")(
        function* (accountId: string, { from, granularity, groupBy, to }: UsageQuery) {
          const group = groupBy === undefined ? sql`null::text` : groupBy === "target" ? sql`target` : sql`key_id`
          const rows = yield* retryTransient(
            sql<BucketRow>`
              select date_trunc(${granularity}, created_at, 'UTC') as start, ${group} as group,
                count(*)::int as searches, sum(credits)::bigint as credits,
                count(*) filter (where outcome = 'ok')::int as ok,
                count(*) filter (where outcome = 'upstream_error')::int as upstream_error,
                count(*) filter (where outcome = 'upstream_timeout')::int as upstream_timeout
              from queries
              where account_id = ${accountId} and created_at >= ${new Date(from)} and created_at < ${new Date(to)}
              group by 1, 2 order by 1, 2 limit ${maxRows + 1}`
          )
          return rows.length > maxRows ? yield* tooManyRows : rows.map(toBucket)
        },
        Effect.catchTag("SqlError", Effect.die)
      )

      /** Walks the account's log once, so that it is as long as the log and no longer. */
      const erase = Effect.fn("QueryLog.erase")(function* (accountId: string) {
        let after: Position | undefined
        do {
          const [row] = yield* retryTransient(
            sql<PositionRow>`
              with page as (
                select id, created_at, ordinal
                ${stretch(accountId, { filter: everything, after, limit: eraseStep })} limit ${eraseStep}
              ), erased as (
                update queries q set query = '', source = '' from page p
                where q.id = p.id and q.created_at = p.created_at and (q.query <> '' or q.source <> '')
              )
              select ${position} from page order by created_at, ordinal limit 1`
          )
          after = row === undefined ? undefined : toPosition(row)
        } while (after !== undefined)
      })

      /** What a crash left of a removed account, or a search that was still running then. */
      const eraseLeftovers = Effect.gen(function* () {
        const removed = yield* sql<{ readonly id: string }>`
          select id from accounts
          where deleted_at > clock_timestamp() - ${Duration.toMillis(eraseAgainFor)}::bigint * interval '1 millisecond'`
        yield* Effect.forEach(removed, ({ id }) => erase(id), { discard: true })
      })

      yield* makePartitions(sql).pipe(
        Effect.andThen(
          sql`select queries_drop_before(clock_timestamp() - ${retentionMs}::bigint * interval '1 millisecond')`
        ),
        Effect.andThen(eraseLeftovers),
        Effect.retry(maintenanceRetry),
        Effect.catchCause((cause) => Effect.logWarning("The query log's months could not be maintained.", cause)),
        Effect.repeat(Schedule.spaced(options.maintenanceInterval ?? defaultMaintenanceInterval)),
        Effect.forkScoped
      )

      return QueryLog.of({
        append: Effect.fn("QueryLog.append")(function* (records) {
          const rows = records.map(toColumns)
          if (Arr.isArrayNonEmpty(rows)) yield* sql`insert into queries ${sql.insert(rows)}`
        }, Effect.orDie),
        recent: (accountId, limit) =>
          Effect.map(history(accountId, { filter: everything, after: undefined, limit }), ({ entries }) => entries),
        history,
        usage,
        erase: (accountId) => Effect.orDie(erase(accountId))
      })
    })
  )

const toPosition = (row: PositionRow): Position => ({ atMicros: row.at_micros, ordinal: row.ordinal })

const toBucket = (row: BucketRow): UsageBucket => ({
  start: row.start.getTime(),
  group: row.group ?? undefined,
  searches: row.searches,
  credits: Number(row.credits),
  outcomes: { ok: row.ok, upstream_error: row.upstream_error, upstream_timeout: row.upstream_timeout }
})

const toLogged = (row: Row): LoggedQuery => ({
  id: row.id,
  accountId: row.account_id ?? undefined,
  keyId: row.key_id ?? undefined,
  batchId: row.batch_id ?? undefined,
  request: {
    target: row.target,
    query: row.query,
    geo: row.geo,
    locale: row.locale,
    page: row.page,
    num: row.num,
    safe: row.safe,
    source: row.source
  },
  outcome: row.outcome,
  credits: row.credits,
  cached: row.cached,
  provider: row.provider ?? undefined,
  resultCount: row.result_count,
  durationMs: Number(row.duration_ms),
  at: row.created_at.getTime()
})
