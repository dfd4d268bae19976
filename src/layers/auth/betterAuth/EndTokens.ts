import { Effect } from "effect"
import type { SqlClient } from "effect/sql"

/** Tables of a person's access to an account. Access tokens come first, because they refer to refresh tokens. */
export const accountAccess = ["auth_access_tokens", "auth_refresh_tokens", "auth_consents", "auth_sessions"] as const

/** Also ends unredeemed authorization codes and links that set a password (R85). Runs in the caller's transaction. */
export const endTokens = (sql: SqlClient.SqlClient, userId: string) =>
  Effect.gen(function* () {
    yield* sql`select 1 from auth_users where id = ${userId} for update`
    yield* sql`delete from auth_access_tokens where user_id = ${userId}`
    yield* sql`delete from auth_refresh_tokens where user_id = ${userId}`
    yield* sql`delete from auth_verifications where value = ${userId}`
  })
