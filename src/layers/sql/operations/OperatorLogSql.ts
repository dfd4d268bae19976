import { Array as Arr, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { NotFound } from "../../../domain/errors.ts"
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
  email: Schema.NullOr(Schema.String),
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

const top = (sql: SqlClient.SqlClient, { by, from, limit, to }: TopQuery) => sql`
  select counted.*, nullif(accounts.email, '') as email
  from (
    select ${sql(groupColumns[by])} as "group", count(*) as searches, coalesce(sum(credits), 0)::bigint as credits,
      count(*) filter (where cached) as cached, ${sql.literal(outcomeCounts)}
    from queries where created_at >= ${new Date(from)} and created_at < ${new Date(to)}
    group by 1 order by 2 desc, 1 limit ${limit}
  ) as counted
  left join accounts on ${by === "account"} and accounts.id = counted."group"
  order by searches desc, "group"`

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
  email: row.email ?? undefined,
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
      top: (query) => Effect.orDie(Effect.map(unlimited(sql, topRows(top(sql, query))), (rows) => rows.map(toTop)))
    })
  )
)
