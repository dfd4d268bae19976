import { Array as Arr, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { NotFound } from "../../../domain/errors.ts"
import {
  maxEntries,
  OperatorLog,
  type TopQuery,
  type TopUsage,
  type UsageGroup
} from "../../../services/operations/OperatorLog.ts"
import { rowsOf } from "../Rows.ts"
import { LoggedRow, loggedColumns, outcomeCounts, toLogged, toOutcomes } from "../search/LogRow.ts"
import { unlimited } from "../store/StatementLimit.ts"
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

const loggedRows = rowsOf(LoggedRow)
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
      top: (query) => Effect.orDie(Effect.map(unlimited(sql, topRows(top(sql, query))), (rows) => rows.map(toTop)))
    })
  )
)
