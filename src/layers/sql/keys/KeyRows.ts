import { Effect, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { budgetPeriodAt, budgetPeriods, type Spending } from "../../../domain/credits/Budget.ts"
import { type ApiKey, KeyMode } from "../../../domain/keys/ApiKey.ts"
import type { BoundsChange, KeyBounds } from "../../../domain/keys/KeyBounds.ts"
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

/** Joins the bounds with this ID as `b`, and what is spent of their budget in the present period as `s`. */
export const joinBounds = (sql: SqlClient.SqlClient, id: string, now: Date): Statement.Fragment => sql`
  left join key_bounds b on b.origin_id = ${sql.literal(id)}
  left join key_spending s on s.origin_id = b.origin_id and s.period = b.budget_period
    and s.period_start = key_budget_start(b.budget_period, ${now}::timestamptz)`

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
      ${joinBounds(sql, originOf("k"), now)}
      where ${which}`),
    (rows) => rows.map((row) => toApiKey(row, now.getTime()))
  )

/** Writes the bounds that the change names. */
export const writeBounds = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  originId: string,
  change: BoundsChange
) {
  const { budget, expiresAt, networks, targets } = change
  const columns = [
    expiresAt === undefined ? [] : ["expires_at"],
    targets === undefined ? [] : ["targets"],
    networks === undefined ? [] : ["networks"],
    budget === undefined ? [] : ["budget_credits", "budget_period"]
  ].flat()
  if (columns.length === 0) return
  yield* sql`
    insert into key_bounds (origin_id, expires_at, targets, networks, budget_credits, budget_period)
    values (
      ${originId}, ${typeof expiresAt === "number" ? new Date(expiresAt) : null}::timestamptz,
      ${targets ?? null}::text[], ${networks ?? null}::text[],
      ${budget ? BigInt(budget.credits) : null}::bigint, ${budget?.period ?? null}::text
    )
    on conflict (origin_id) do update
      set ${sql.literal(columns.map((column) => `${column} = excluded.${column}`).join(", "))}`
})

export const toBounds = (row: typeof BoundsRow.Type): KeyBounds => ({
  expiresAt: row.expires_at?.getTime(),
  budget:
    row.budget_credits === null || row.budget_period === null
      ? undefined
      : { credits: Number(row.budget_credits), period: row.budget_period },
  targets: row.targets ?? undefined,
  networks: row.networks ?? undefined
})

export const toSpending = ({ budget }: KeyBounds, spent: bigint, now: number): Spending | undefined =>
  budget && { credits: Number(spent), resetsAt: budgetPeriodAt(budget.period, now).end }

const toApiKey = (row: typeof KeyRow.Type, now: number): ApiKey => {
  const bounds = toBounds(row)
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
    spending: toSpending(bounds, row.spent, now)
  }
}
