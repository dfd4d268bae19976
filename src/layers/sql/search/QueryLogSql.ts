import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { everything, type HistoryFilter, type HistoryQuery, type Position } from "../../../domain/log/QueryHistory.ts"
import { maxRows, tooManyRows, type UsageBucket, type UsageQuery } from "../../../domain/log/Usage.ts"
import { pageTarget } from "../../../domain/search/Target.ts"
import { QueryLog } from "../../../services/charging/QueryLog.ts"
import { PositionRow, positionColumns, positionRow, rangeConditions, readPage, toPosition } from "../LogPages.ts"
import { columnsOf, rowsOf } from "../Rows.ts"
import { dieOnSqlError } from "../Transaction.ts"
import { retryTransient } from "../Transient.ts"
import {
  LoggedRow,
  LogRow,
  loggedColumns,
  outcomeColumns,
  outcomeCounts,
  toColumns,
  toLogged,
  toOutcomes
} from "./LogRow.ts"

const eraseStepEntries = 5_000
const hourMs = 3_600_000

const HistoryRow = Schema.Struct({ ...LoggedRow.fields, ...PositionRow.fields })
const BucketRow = Schema.Struct({
  start: Schema.Date,
  group: Schema.NullOr(Schema.String),
  searches: Schema.Int,
  credits: Schema.BigInt,
  ok: Schema.Int,
  upstream_error: Schema.Int,
  upstream_timeout: Schema.Int,
  page_unreadable: Schema.Int
})

const historyRows = rowsOf(HistoryRow)
const bucketRows = rowsOf(BucketRow)

const indexedEntries = (sql: SqlClient.SqlClient, accountId: string, { after, filter }: HistoryQuery) => {
  const conditions = rangeConditions(sql, accountId, after, filter)
  if (filter.id !== undefined) conditions.push(sql`id = ${filter.id}`)
  if (filter.batchId !== undefined) conditions.push(sql`batch_id = ${filter.batchId}`)
  return sql`from queries where ${sql.and(conditions)} order by created_at desc, ordinal desc`
}

const otherConditions = (sql: SqlClient.SqlClient, filter: HistoryFilter) => {
  const { domain, keyId, kind, minDurationMs, option, outcome, requestId, source, target, text } = filter
  const conditions = []
  if (kind !== undefined) {
    conditions.push(kind === "page" ? sql`target = ${pageTarget}` : sql`target <> ${pageTarget}`)
  }
  if (requestId !== undefined) conditions.push(sql`request_id = ${requestId}`)
  if (minDurationMs !== undefined) conditions.push(sql`duration_ms >= ${minDurationMs}`)
  if (target !== undefined) conditions.push(sql`target = ${target}`)
  if (outcome !== undefined) conditions.push(sql`outcome = ${outcome}`)
  if (keyId !== undefined) conditions.push(sql`key_id = ${keyId}`)
  if (source !== undefined) conditions.push(sql`source = ${source}`)
  if (text !== undefined) conditions.push(sql`strpos(lower(query), lower(${text})) > 0`)
  if (option !== undefined) conditions.push(sql`jsonb_exists(options, ${option})`)
  if (domain !== undefined) {
    conditions.push(
      sql`(jsonb_exists(options->'include_domains', ${domain}) or jsonb_exists(options->'exclude_domains', ${domain}))`
    )
  }
  return conditions
}

const history = (sql: SqlClient.SqlClient) => {
  const columns = sql.literal(`${loggedColumns}, ${positionColumns}`)
  return Effect.fn("QueryLog.history")(function* (accountId: string, query: HistoryQuery) {
    const indexed = indexedEntries(sql, accountId, query)
    const others = otherConditions(sql, query.filter)
    const { next, rows } = yield* readPage(sql, { columns, indexed, others, limit: query.limit, rowsOf: historyRows })
    return { entries: rows.map(toLogged), next }
  }, Effect.orDie)
}

/** The log's column for each grouping, and what a response shows of it. */
const groups = {
  target: { column: "target", shown: "nullif(name, '')" },
  key: { column: "key_id", shown: "nullif(name, '')" },
  member: { column: "person_id", shown: "p.email" }
}

/** Hours from before the log had people have no counts by member. Their counts by target stand in, without a person. */
const countedByMember = `(counted_by = 'member' or counted_by = 'target' and not exists (
  select from usage_hours m where m.account_id = u.account_id and m.hour = u.hour and m.counted_by = 'member'))`

/** Hours that `usage_hours` lacks come from the log. One statement reads both, so each search counts once. */
const usageBuckets = (sql: SqlClient.SqlClient, accountId: string, { from, granularity, groupBy, to }: UsageQuery) => {
  const group = sql.literal(groupBy === undefined ? "null::text" : groups[groupBy].shown)
  const [since, until] = [sql`${new Date(from)}::timestamptz`, sql`${new Date(to)}::timestamptz`]
  return sql`
    with counted as materialized (
      select hour, ${sql.literal(groupBy === "member" ? "case when counted_by = 'member' then name else '' end" : "name")} as name,
        searches, credits, ${sql.literal(outcomeColumns)} from usage_hours u
      where account_id = ${accountId} and ${groupBy === "member" ? sql.literal(countedByMember) : sql`counted_by = ${groupBy ?? "target"}`}
        and hour >= ${new Date(Math.ceil(from / hourMs) * hourMs)} and hour < ${new Date(Math.floor(to / hourMs) * hourMs)}
    ), hours as (
      select distinct hour from counted
    ), gaps as (
      select lag(hour + interval '1 hour', 1, ${since}) over (order by hour) as since, hour as until from hours
      union all select coalesce(max(hour) + interval '1 hour', ${since}), ${until} from hours
    ), logged as (
      select date_trunc('hour', created_at, 'UTC') as hour, name, count(*) as searches, sum(credits) as credits,
        ${sql.literal(outcomeCounts)}
      from gaps cross join lateral (
        select created_at, ${sql.literal(groups[groupBy ?? "target"].column)} as name, credits, outcome from queries
        where account_id = ${accountId} and created_at >= gaps.since and created_at < gaps.until offset 0
      ) as q
      where gaps.since < gaps.until group by 1, 2
    )
    select date_trunc(${granularity}, t.hour, 'UTC') as start, ${group} as group, sum(searches)::int as searches,
      sum(credits)::bigint as credits, sum(ok)::int as ok, sum(upstream_error)::int as upstream_error,
      sum(upstream_timeout)::int as upstream_timeout, sum(page_unreadable)::int as page_unreadable
    from (select * from counted union all select * from logged) as t
      ${sql.literal(groupBy === "member" ? "left join auth_users p on p.id = t.name" : "")}
    group by 1, 2 order by 1, 2 limit ${maxRows + 1}`
}

const usage = (sql: SqlClient.SqlClient) =>
  Effect.fn("QueryLog.usage")(function* (accountId: string, query: UsageQuery) {
    // JIT compilation of this statement takes longer than running it.
    const withoutCompiling = sql.withTransaction(
      Effect.andThen(sql`set local jit = off`, bucketRows(usageBuckets(sql, accountId, query)))
    )
    const rows = yield* retryTransient(withoutCompiling)
    return rows.length > maxRows ? yield* tooManyRows : rows.map(toBucket)
  }, dieOnSqlError)

const eraseStepAfter = (sql: SqlClient.SqlClient, accountId: string, after: Position | undefined) =>
  positionRow(sql`
    with page as (
      select id, created_at, ordinal
      ${indexedEntries(sql, accountId, { filter: everything, after, limit: eraseStepEntries })} limit ${eraseStepEntries}
    ), erased as (
      update queries q set query = '', source = '', host = left(host, 0), options = null, person_id = null from page p
      where q.id = p.id and q.created_at = p.created_at and (q.query <> '' or q.source <> '' or q.host <> '' or q.options is not null or q.person_id is not null)
    )
    select ${sql.literal(positionColumns)} from page order by created_at, ordinal limit 1`)

/** Erases the entries that exist at the start, so that it ends even if new entries keep coming. */
export const erase = (sql: SqlClient.SqlClient) =>
  Effect.fn("QueryLog.erase")(function* (accountId: string) {
    let after: Position | undefined
    do {
      const row = yield* retryTransient(eraseStepAfter(sql, accountId, after))
      after = row === undefined ? undefined : toPosition(row)
    } while (after !== undefined)
    yield* retryTransient(sql`delete from idempotency_keys where account_id = ${accountId}`)
    yield* retryTransient(sql`delete from account_events where account_id = ${accountId}`)
  })

export const layer: Layer.Layer<QueryLog, never, SqlClient.SqlClient> = Layer.effect(
  QueryLog,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const page = history(sql)
    const eraseAll = erase(sql)
    const columns = sql.literal(columnsOf(LogRow))
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

const toBucket = (row: typeof BucketRow.Type): UsageBucket => ({
  start: row.start.getTime(),
  group: row.group ?? undefined,
  searches: row.searches,
  credits: Number(row.credits),
  outcomes: toOutcomes(row)
})
