import { Duration, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { rowOf } from "../../sql/Rows.ts"

const limits = {
  /** Since the app last started a sign-in or asked for tokens. */
  unused: Duration.days(90),
  /** Saves a write for each refresh. Added to `unused`, so that no registration is deleted early. */
  precision: Duration.hours(1),
  /** Anyone can register, so registrations that nobody authorized are limited in number. */
  withoutConsent: 10_000,
  deleted: 1000
}

const lastUse = "coalesce(a.used_at, a.created_at)"
const hasNoConsent = "not exists (select 1 from auth_consents c where c.client_id = a.client_id)"

const interval = (sql: SqlClient.SqlClient, duration: Duration.Duration) =>
  sql`${Duration.toMillis(duration)} * interval '1 millisecond'`

const isExpired = (sql: SqlClient.SqlClient) =>
  sql`${sql.literal(lastUse)} < clock_timestamp() - ${interval(sql, Duration.sum(limits.unused, limits.precision))}`

const AppRow = Schema.Struct({ is_expired: Schema.Boolean, is_noted: Schema.Boolean })
const appRow = rowOf(AppRow)

/** The lifetime of client registrations (R80). An expired registration is deleted at the latest when it is used. */
export const makeRegistrations = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  /** Makes room for a new registration. Those without a consent that were not used for longest go first. */
  const deleteUnused = sql`
    delete from auth_apps where client_id in (
      select a.client_id from auth_apps a
      where ${isExpired(sql)}
        or (${sql.literal(hasNoConsent)} and ${sql.literal(lastUse)} < (
          select ${sql.literal(lastUse)} from auth_apps a where ${sql.literal(hasNoConsent)}
          order by ${sql.literal(lastUse)} desc offset ${limits.withoutConsent - 2} limit 1))
      order by ${sql.literal(lastUse)} limit ${limits.deleted} for update skip locked
    )`

  /** Returns whether the app is registered, and notes that it was used. */
  const use = Effect.fnUntraced(function* (clientId: string) {
    // Postgres rejects NUL in text.
    if (clientId.includes("\0")) return false
    const row = yield* appRow(sql`
      select ${isExpired(sql)} as is_expired,
        coalesce(a.used_at > clock_timestamp() - ${interval(sql, limits.precision)}, false) as is_noted
      from auth_apps a where a.client_id = ${clientId}`)
    if (row === undefined) return false
    if (row.is_expired) yield* sql`delete from auth_apps a where a.client_id = ${clientId} and ${isExpired(sql)}`
    else if (!row.is_noted) yield* sql`update auth_apps set used_at = clock_timestamp() where client_id = ${clientId}`
    return !row.is_expired
  })

  return { deleteUnused, use }
})

export type Registrations = Effect.Success<typeof makeRegistrations>
