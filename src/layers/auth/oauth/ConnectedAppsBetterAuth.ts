import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { verifiedHostOf } from "../../../domain/accounts/ClientMetadata.ts"
import { budgetOfApp } from "../../../domain/credits/Budget.ts"
import { NotFound } from "../../../domain/errors.ts"
import { ConnectedApps, maxListedApps } from "../../../services/accounts/ConnectedApps.ts"
import { inActivity } from "../../sql/Requester.ts"
import { idRows, rowsOf } from "../../sql/Rows.ts"

const appRows = rowsOf(
  Schema.Struct({
    id: Schema.String,
    client_id: Schema.String,
    name: Schema.NullOr(Schema.String),
    daily_credits: Schema.NullOr(Schema.BigInt),
    connected_at: Schema.Date,
    renewed_at: Schema.Date
  })
)

/** The client ID, or the app's `id` if the client ID is an address, which cannot be part of a path. */
const publicId = "case when a.document_expires_at is null then a.client_id else a.id end"

const list = (sql: SqlClient.SqlClient): ConnectedApps["Service"]["list"] =>
  Effect.fn("ConnectedApps.list")(function* ({ accountId, personId }) {
    const rows = yield* appRows(sql`
      with tokens as (
        select client_id, created_at from auth_refresh_tokens
        where user_id = ${personId} and account_id = ${accountId} and revoked_at is null and expires_at > clock_timestamp()
        union all
        select client_id, created_at from auth_access_tokens
        where user_id = ${personId} and account_id = ${accountId} and revoked_at is null and expires_at > clock_timestamp()
      )
      select ${sql.literal(publicId)} as id, a.client_id, a.name, max(t.created_at) as renewed_at,
        coalesce(
          (select min(c.created_at) from auth_consents c
            where c.client_id = a.client_id and c.user_id = ${personId} and c.account_id = ${accountId}),
          min(t.created_at)
        ) as connected_at,
        (select b.budget_credits from key_bounds b
          where b.origin_id = ${budgetOfApp(accountId, "")} || a.client_id) as daily_credits
      from tokens t join auth_apps a on a.client_id = t.client_id
      group by a.id, a.client_id, a.document_expires_at, a.name
      order by renewed_at desc, id limit ${maxListedApps}`)
    return rows.map((row) => ({
      id: row.id,
      name: row.name ?? undefined,
      verifiedHost: verifiedHostOf(row.client_id),
      dailyCredits: row.daily_credits === null ? undefined : Number(row.daily_credits),
      connectedAt: row.connected_at.getTime(),
      renewedAt: row.renewed_at.getTime()
    }))
  }, Effect.orDie)

const limit = (sql: SqlClient.SqlClient): ConnectedApps["Service"]["limit"] =>
  Effect.fn("ConnectedApps.limit")(function* (accountId, clientId, dailyCredits) {
    const budgetId = budgetOfApp(accountId, clientId)
    yield* dailyCredits === undefined
      ? sql`delete from key_bounds where origin_id = ${budgetId}`
      : sql`
          insert into key_bounds (origin_id, budget_credits, budget_period) values (${budgetId}, ${dailyCredits}, 'day')
          on conflict (origin_id) do update set budget_credits = excluded.budget_credits`
  }, Effect.orDie)

const unknownApp = new NotFound({ message: "You have no such app in this account." })

const end = (sql: SqlClient.SqlClient): ConnectedApps["Service"]["end"] =>
  Effect.fn("ConnectedApps.end")(function* ({ accountId, personId }, appId) {
    // Locks the person first, like every statement that ends sessions and tokens, to avoid deadlocks.
    yield* sql`select 1 from auth_users where id = ${personId} for update`
    const [app] = yield* idRows(
      sql`select a.client_id as id from auth_apps a where ${sql.literal(publicId)} = ${appId}`
    )
    if (app === undefined) return yield* unknownApp
    const ended = yield* Effect.forEach(["auth_access_tokens", "auth_refresh_tokens", "auth_consents"], (table) =>
      idRows(sql`
            delete from ${sql(table)}
            where user_id = ${personId} and account_id = ${accountId} and client_id = ${app.id} returning client_id as id`)
    )
    if (ended.flat().length === 0) return yield* unknownApp
    // Keeps counting what the app has spent today, in case it is connected again.
    yield* sql`delete from key_bounds where origin_id = ${budgetOfApp(accountId, app.id)}`
  }, inActivity(sql))

export const layer: Layer.Layer<ConnectedApps, never, SqlClient.SqlClient> = Layer.effect(
  ConnectedApps,
  Effect.map(SqlClient.SqlClient, (sql) => ConnectedApps.of({ list: list(sql), limit: limit(sql), end: end(sql) }))
)
