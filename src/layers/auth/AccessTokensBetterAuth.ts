import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { unauthorized } from "../../domain/errors.ts"
import { accessTokenPrefix, resourceOf } from "../../domain/OAuth.ts"
import { AccessTokens } from "../../services/AccessTokens.ts"
import { type AccountRow, toAccount } from "../sql/AccountsSql.ts"
import { retryTransient } from "../sql/Transient.ts"
import type { SessionsOptions } from "./BetterAuth.ts"
import { digestOf } from "./Digest.ts"

/** What the library makes up, behind our prefix. */
const tokenPattern = new RegExp(`^${accessTokenPrefix}([A-Za-z]{32})$`)

/**
 * Reads the tokens that the sign-in library issues, without loading it. Looked up for every request, in one statement,
 * so that whatever ends a token or its person ends it everywhere at once.
 */
export const layer = ({
  baseUrl,
  secret
}: Pick<SessionsOptions, "baseUrl" | "secret">): Layer.Layer<AccessTokens, never, SqlClient.SqlClient> =>
  Layer.effect(
    AccessTokens,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // As the library writes it.
      const audience = JSON.stringify([resourceOf(baseUrl)])

      return AccessTokens.of({
        authenticate: Effect.fn("AccessTokens.authenticate")(
          function* (presented) {
            const [, token] = tokenPattern.exec(Redacted.value(presented)) ?? []
            if (token === undefined) return yield* unauthorized
            const [row] = yield* retryTransient(sql<AccountRow>`
              select a.*
              from auth_access_tokens t
              join auth_users u on u.id = t.user_id
              join accounts a on a.id = u.account_id and a.deleted_at is null
              where t.digest = ${digestOf(secret, "access_token", token)} and t.expires_at > clock_timestamp()
                and t.revoked_at is null and t.resources = ${audience}`)
            if (row === undefined) return yield* unauthorized
            return { _tag: "oauth" as const, account: toAccount(row) }
          },
          Effect.catchTag("SqlError", Effect.die)
        )
      })
    })
  )
