import { Effect, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { budgetPeriodAt, budgetPeriods } from "../../../domain/credits/Budget.ts"
import { type ApiKey, KeyMode } from "../../../domain/keys/ApiKey.ts"
import type { KeyBounds } from "../../../domain/keys/KeyBounds.ts"
import { AnyTarget } from "../../../domain/search/Target.ts"
import { columnsOf, rowsOf } from "../Rows.ts"

const StoredKey = Schema.Struct({
  id: Schema.String,
  account_id: Schema.String,
  label: Schema.String,
  mode: KeyMode,
  hint: Schema.String,
  created_at: Schema.Date,
  last_used_at: Schema.NullOr(Schema.Date),
  revoked_at: Schema.NullOr(Schema.Date)
})

/** A row of `key_bounds`. Columns are null where a key is unlimited. */
export const BoundsRow = Schema.Struct({
  expires_at: Schema.NullOr(Schema.Date),
  targets: Schema.NullOr(Schema.Array(AnyTarget)),
  networks: Schema.NullOr(Schema.Array(Schema.String)),
  budget_credits: Schema.NullOr(Schema.BigInt),
  budget_period: Schema.NullOr(Schema.Literals(budgetPeriods))
})

const KeyRow = Schema.Struct({
  ...StoredKey.fields,
  ...BoundsRow.fields,
  spent: Schema.BigInt,
  created_by: Schema.NullOr(Schema.String)
})

const keyRows = rowsOf(KeyRow)

/** Bounds and spending are stored under the id of the original key, before rotations. */
export const originOf = (alias: string): string => `coalesce(${alias}.origin_id, ${alias}.id)`

/** Not revoked, or still in its grace period after a rotation. */
export const isActive = (sql: SqlClient.SqlClient, alias: string, now: Date): Statement.Fragment =>
  sql`(${sql.literal(alias)}.revoked_at is null or ${sql.literal(alias)}.revoked_at > ${now}::timestamptz)`

export const readKeys = (sql: SqlClient.SqlClient, now: Date, which: Statement.Fragment) =>
  Effect.map(
    keyRows(sql`
      select ${sql.literal(columnsOf(StoredKey, "k"))}, ${sql.literal(columnsOf(BoundsRow, "b"))},
        coalesce(s.spent, 0) as spent, p.email as created_by
      from api_keys k
      left join auth_users p on p.id = k.created_by
      left join key_bounds b on b.origin_id = ${sql.literal(originOf("k"))}
      left join key_spending s on s.origin_id = b.origin_id and s.period = b.budget_period
        and s.period_start = key_budget_start(b.budget_period, ${now}::timestamptz)
      where ${which}`),
    (rows) => rows.map((row) => toApiKey(row, now.getTime()))
  )

const toBounds = (row: typeof BoundsRow.Type): KeyBounds => ({
  expiresAt: row.expires_at?.getTime(),
  budget:
    row.budget_credits === null || row.budget_period === null
      ? undefined
      : { credits: Number(row.budget_credits), period: row.budget_period },
  targets: row.targets ?? undefined,
  networks: row.networks ?? undefined
})

const toApiKey = (row: typeof KeyRow.Type, now: number): ApiKey => {
  const bounds = toBounds(row)
  const { budget } = bounds
  return {
    id: row.id,
    accountId: row.account_id,
    label: row.label,
    mode: row.mode,
    hint: row.hint,
    createdAt: row.created_at.getTime(),
    createdBy: row.created_by ?? undefined,
    lastUsedAt: row.last_used_at?.getTime(),
    revokedAt: row.revoked_at?.getTime(),
    bounds,
    spending:
      budget === undefined
        ? undefined
        : { credits: Number(row.spent), resetsAt: budgetPeriodAt(budget.period, now).end }
  }
}
