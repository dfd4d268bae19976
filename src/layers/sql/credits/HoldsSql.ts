import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type HoldFilter, Holds, type ListedHold } from "../../../services/credits/Holds.ts"
import { rowOf, rowsOf } from "../Rows.ts"
import { read } from "../Transaction.ts"

const HoldRow = Schema.Struct({
  id: Schema.String,
  account_id: Schema.String,
  from_quota: Schema.BigInt,
  from_balance: Schema.BigInt,
  expires_at: Schema.Date,
  is_overdue: Schema.Boolean
})

const holdRows = rowsOf(HoldRow)
const countRow = rowOf(Schema.Struct({ open: Schema.Int, overdue: Schema.Int }))

const toHold = (row: typeof HoldRow.Type): ListedHold => ({
  id: row.id,
  accountId: row.account_id,
  fromQuota: Number(row.from_quota),
  fromBalance: Number(row.from_balance),
  expiresAt: row.expires_at.getTime(),
  isOverdue: row.is_overdue
})

const overdue = "expires_at < clock_timestamp() - interval '1 minute'"

const list = (sql: SqlClient.SqlClient, { accountId, limit, overdueOnly }: HoldFilter) => {
  const conditions = []
  if (accountId !== undefined) conditions.push(sql`account_id = ${accountId}`)
  if (overdueOnly) conditions.push(sql.literal(overdue))
  return sql`
    select id, account_id, from_quota, from_balance, expires_at, ${sql.literal(overdue)} as is_overdue
    from holds where ${sql.and(conditions)} order by expires_at, id limit ${limit}`
}

export const layer: Layer.Layer<Holds, never, SqlClient.SqlClient> = Layer.effect(
  Holds,
  Effect.map(SqlClient.SqlClient, (sql) =>
    Holds.of({
      list: (filter) => read(holdRows(list(sql, filter)), (rows) => rows.map(toHold)),
      count: read(
        countRow(sql`
          select count(*)::int as open, count(*) filter (where ${sql.literal(overdue)})::int as overdue from holds`),
        (row) => row ?? { open: 0, overdue: 0 }
      )
    })
  )
)
