import { Array as Arr, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { NotFound } from "../../../domain/errors.ts"
import { total } from "../../../domain/log/Usage.ts"
import type { StoredLogEntry } from "../../../services/charging/QueryLog.ts"
import {
  type MinuteCounts,
  maxEntries,
  OperatorLog,
  type SearchCharge,
  type TopQuery,
  type TopUsage,
  type UsageGroup
} from "../../../services/operations/OperatorLog.ts"
import { columnsOf, rowsOf } from "../Rows.ts"
import { LoggedRow, loggedColumns, outcomeCounts, toLogged, toOutcomes } from "../search/LogRow.ts"
import { unlimited } from "../store/StatementLimit.ts"
import { read } from "../Transaction.ts"
import { retryTransient } from "../Transient.ts"

const TopRow = Schema.Struct({
  group: Schema.NullOr(Schema.String),
  searches: Schema.BigInt,
  credits: Schema.BigInt,
  cached: Schema.BigInt,
  ok: Schema.BigInt,
  upstream_error: Schema.BigInt,
  upstream_timeout: Schema.BigInt,
  page_unreadable: Schema.BigInt
})

const MinuteRow = Schema.Struct({
  at: Schema.Date,
  searches: Schema.Int,
  credits: Schema.BigInt,
  ok: Schema.BigInt,
  upstream_error: Schema.BigInt,
  upstream_timeout: Schema.BigInt,
  page_unreadable: Schema.BigInt,
  p50_ms: Schema.BigInt,
  p95_ms: Schema.BigInt
})

const ChargeRow = Schema.Struct({
  id: Schema.BigInt,
  created_at: Schema.Date,
  account_id: Schema.String,
  kind: Schema.String,
  quota_credits: Schema.BigInt,
  balance_credits: Schema.BigInt,
  cause: Schema.String
})

const loggedRows = rowsOf(LoggedRow)
const minuteRows = rowsOf(MinuteRow)
const chargeRows = rowsOf(ChargeRow)
const topRows = rowsOf(TopRow)
const emailRows = rowsOf(Schema.Struct({ id: Schema.String, email: Schema.String }))

const lookups = {
  query: { column: "id", order: "created_at" },
  batch: { column: "batch_id", order: "row_index, created_at, ordinal" },
  request: { column: "request_id", order: "created_at, ordinal" }
} as const

const entriesBy = (sql: SqlClient.SqlClient, lookup: keyof typeof lookups, value: string) => {
  const { column, order } = lookups[lookup]
  const condition = lookup === "request" ? sql`request_id = ${value}::uuid` : sql`${sql(column)} = ${value}`
  return loggedRows(sql`
    select ${sql.literal(loggedColumns)} from queries where ${condition}
    order by ${sql.literal(order)} limit ${maxEntries}`).pipe(
    retryTransient,
    Effect.orDie,
    Effect.flatMap((rows) =>
      Arr.isReadonlyArrayNonEmpty(rows)
        ? Effect.succeed(Arr.map(rows, toLogged))
        : Effect.fail(new NotFound({ message: `The query log has no ${lookup} ${value}.` }))
    )
  )
}

const minutes = (sql: SqlClient.SqlClient, from: number, to: number) =>
  read(
    minuteRows(sql`
      select date_trunc('minute', created_at) as at, count(*)::int as searches, sum(credits)::bigint as credits,
        ${sql.literal(outcomeCounts)}, percentile_disc(0.5) within group (order by duration_ms) as p50_ms,
        percentile_disc(0.95) within group (order by duration_ms) as p95_ms
      from queries where created_at >= ${new Date(from)} and created_at < ${new Date(to)}
      group by 1 order by 1`),
    (rows) => rows.map(toMinute)
  )

/** The times let the database skip months. */
const charges = (sql: SqlClient.SqlClient, entries: ReadonlyArray<StoredLogEntry>) => {
  const times = entries.map(({ at }) => at)
  return read(
    chargeRows(sql`
      select ${sql.literal(columnsOf(ChargeRow))} from ledger_entries where cause in (
        select distinct hold_id from queries
        where id = any (${entries.map(({ id }) => id)}::text[]) and created_at >= ${new Date(Math.min(...times))}
          and created_at < ${new Date(Math.max(...times) + 1)}
      ) order by id`),
    (rows) => rows.map(toCharge)
  )
}

const groupColumns: Readonly<Record<UsageGroup, string>> = {
  account: "account_id",
  key: "key_id",
  target: "target",
  provider: "provider",
  source: "source"
}

const counted = (sql: SqlClient.SqlClient, { by, from, to }: Omit<TopQuery, "limit">) => sql`
  select ${sql(groupColumns[by])} as "group", count(*) as searches, coalesce(sum(credits), 0)::bigint as credits,
    count(*) filter (where cached) as cached, ${sql.literal(outcomeCounts)}
  from queries where created_at >= ${new Date(from)} and created_at < ${new Date(to)} group by 1`

/** In memory, because sorting the groups of a busy day on the disk takes half as long again. */
const grouped = (sql: SqlClient.SqlClient, statement: ReturnType<typeof counted>) =>
  Effect.map(unlimited(sql, Effect.andThen(sql`set local work_mem = '32MB'`, topRows(statement))), (rows) =>
    rows.map(toTop)
  )

const top = (sql: SqlClient.SqlClient, query: TopQuery) =>
  grouped(sql, sql`${counted(sql, query)} order by 2 desc, 1 limit ${query.limit}`)

const dayMs = 86_400_000

/** Longer times are for a command, whose user waits. */
const maxDays = 31

const add = (sum: TopUsage, row: TopUsage): TopUsage => ({
  ...sum,
  ...total([sum, row]),
  cached: sum.cached + row.cached
})

const mostFirst = (a: TopUsage, b: TopUsage): number =>
  b.searches - a.searches || ((a.group ?? "") < (b.group ?? "") ? -1 : 1)

/** Limits what one page takes of the database. */
const daysTogether = 2

/** Day by day, so that no statement takes long however many days there are. */
const topOfDays = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, { by, from, limit, to }: TopQuery) {
  const starts = Array.from({ length: Math.ceil((to - from) / dayMs) }, (_, day) => from + day * dayMs)
  const sums = new Map<string | undefined, TopUsage>()
  yield* Effect.forEach(
    starts,
    (start) =>
      Effect.map(grouped(sql, counted(sql, { by, from: start, to: Math.min(to, start + dayMs) })), (rows) => {
        for (const row of rows) {
          const sum = sums.get(row.group)
          sums.set(row.group, sum === undefined ? row : add(sum, row))
        }
      }),
    { concurrency: daysTogether, discard: true }
  )
  return [...sums.values()].sort(mostFirst).slice(0, limit)
})

const withEmails = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, all: ReadonlyArray<TopUsage>) {
  const ids = all.flatMap(({ group }) => group ?? [])
  const rows = yield* emailRows(sql`
    select id, email from accounts where id = any (${ids}::text[]) and email <> ''`)
  const emails = new Map(rows.map(({ email, id }) => [id, email]))
  return all.map((usage) => ({ ...usage, email: emails.get(usage.group ?? "") }))
})

const topWithEmails = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, query: TopQuery) {
  const days = (query.to - query.from) / dayMs
  const found = yield* days > 1 && days <= maxDays ? topOfDays(sql, query) : top(sql, query)
  return query.by === "account" ? yield* withEmails(sql, found) : found
})

const toMinute = (row: typeof MinuteRow.Type): MinuteCounts => ({
  at: row.at.getTime(),
  searches: row.searches,
  credits: Number(row.credits),
  outcomes: toOutcomes(row),
  p50Ms: Number(row.p50_ms),
  p95Ms: Number(row.p95_ms)
})

const toCharge = (row: typeof ChargeRow.Type): SearchCharge => ({
  id: Number(row.id),
  at: row.created_at.getTime(),
  accountId: row.account_id,
  kind: row.kind,
  quotaCredits: Number(row.quota_credits),
  balanceCredits: Number(row.balance_credits),
  cause: row.cause
})

const toTop = (row: typeof TopRow.Type): TopUsage => ({
  group: row.group ?? undefined,
  email: undefined,
  searches: Number(row.searches),
  credits: Number(row.credits),
  cached: Number(row.cached),
  outcomes: toOutcomes(row)
})

export const layer: Layer.Layer<OperatorLog, never, SqlClient.SqlClient> = Layer.effect(
  OperatorLog,
  Effect.map(SqlClient.SqlClient, (sql) =>
    OperatorLog.of({
      query: (id) => Effect.map(entriesBy(sql, "query", id), ([entry]) => entry),
      batch: (id) => entriesBy(sql, "batch", id),
      request: (requestId) => entriesBy(sql, "request", requestId),
      charges: (entries) => (entries.length === 0 ? Effect.succeed([]) : charges(sql, entries)),
      minutes: (from, to) => minutes(sql, from, to),
      top: (query) => Effect.orDie(topWithEmails(sql, query))
    })
  )
)
