import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { NotFound } from "../../../domain/errors.ts"
import { ConnectedApps, maxListedApps } from "../../../services/accounts/ConnectedApps.ts"
import { rowsOf } from "../../sql/Rows.ts"

const idRows = rowsOf(Schema.Struct({ id: Schema.String }))

const appRows = rowsOf(
  Schema.Struct({
    id: Schema.String,
    name: Schema.NullOr(Schema.String),
    connected_at: Schema.Date,
    renewed_at: Schema.Date
  })
)

const list = (sql: SqlClient.SqlClient): ConnectedApps["Service"]["list"] =>
  Effect.fn("ConnectedApps.list")(function* (accountId) {
    const rows = yield* appRows(sql`
      with tokens as (
        select t.client_id, t.created_at from auth_users u
        join lateral (
          select client_id, created_at from auth_refresh_tokens
          where user_id = u.id and revoked_at is null and expires_at > clock_timestamp()
          union all
          select client_id, created_at from auth_access_tokens
          where user_id = u.id and revoked_at is null and expires_at > clock_timestamp()
        ) t on true
        where u.account_id = ${accountId}
      )
      select a.client_id as id, a.name, max(t.created_at) as renewed_at,
        coalesce(
          (select min(c.created_at) from auth_consents c join auth_users u on u.id = c.user_id
            where c.client_id = a.client_id and u.account_id = ${accountId}),
          min(t.created_at)
        ) as connected_at
      from tokens t join auth_apps a on a.client_id = t.client_id
      group by a.client_id, a.name
      order by renewed_at desc, id limit ${maxListedApps}`)
    return rows.map((row) => ({
      id: row.id,
      name: row.name ?? undefined,
      connectedAt: row.connected_at.getTime(),
      renewedAt: row.renewed_at.getTime()
    }))
  }, Effect.orDie)

const unknownApp = new NotFound({ message: "The account has no such app." })

const end = (sql: SqlClient.SqlClient): ConnectedApps["Service"]["end"] =>
  Effect.fn("ConnectedApps.end")(
    function* (accountId, appId) {
      // Locks the person first, like every statement that ends sessions and tokens, to avoid deadlocks.
      const [person] = yield* idRows(sql`select id from auth_users where account_id = ${accountId} for update`)
      if (person === undefined) return yield* unknownApp
      const ended = yield* Effect.forEach(["auth_access_tokens", "auth_refresh_tokens", "auth_consents"], (table) =>
        idRows(sql`
            delete from ${sql(table)} where user_id = ${person.id} and client_id = ${appId} returning client_id as id`)
      )
      if (ended.flat().length === 0) return yield* unknownApp
    },
    sql.withTransaction,
    Effect.catchTag("SqlError", Effect.die)
  )

/** Reads the apps from the sign-in library's tables without loading it. */
export const layer: Layer.Layer<ConnectedApps, never, SqlClient.SqlClient> = Layer.effect(
  ConnectedApps,
  Effect.map(SqlClient.SqlClient, (sql) => ConnectedApps.of({ list: list(sql), end: end(sql) }))
)
