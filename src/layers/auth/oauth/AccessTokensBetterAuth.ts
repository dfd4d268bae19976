import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { accessTokenPrefix, resourceOf } from "../../../domain/accounts/OAuth.ts"
import { unauthorized } from "../../../domain/errors.ts"
import { AccessTokens } from "../../../services/accounts/AccessTokens.ts"
import { AccountRow, toAccount } from "../../sql/accounts/AccountsSql.ts"
import { columnsOf, rowOf } from "../../sql/Rows.ts"
import { retryTransient } from "../../sql/Transient.ts"
import { digestsOf } from "../betterAuth/Digest.ts"
import type { SignInOptions } from "../betterAuth/Options.ts"

/** Our prefix, followed by the library's token. */
const tokenPattern = new RegExp(`^${accessTokenPrefix}([A-Za-z]{32})$`)

const accountColumns = columnsOf(AccountRow, "a")
const accountRow = rowOf(AccountRow)

/** Reads the sign-in library's access tokens without loading it. A revoked token ends at once on all replicas. */
export const layer = ({
  baseUrl,
  secrets
}: Pick<SignInOptions, "baseUrl" | "secrets">): Layer.Layer<AccessTokens, never, SqlClient.SqlClient> =>
  Layer.effect(
    AccessTokens,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // The library stores the resources of a token as a JSON list.
      const resources = JSON.stringify([resourceOf(baseUrl)])

      return AccessTokens.of({
        authenticate: Effect.fn("AccessTokens.authenticate")(
          function* (presented) {
            const [, token] = tokenPattern.exec(Redacted.value(presented)) ?? []
            if (token === undefined) return yield* unauthorized
            const row = yield* retryTransient(
              accountRow(sql`
                select ${sql.literal(accountColumns)}
                from auth_access_tokens t
                join auth_users u on u.id = t.user_id
                join accounts a on a.id = u.account_id and a.deleted_at is null
                where t.digest = any (${digestsOf(secrets, "access_token", token)}::text[]) and t.expires_at > clock_timestamp()
                  and t.revoked_at is null and t.resources = ${resources}`)
            )
            if (row === undefined) return yield* unauthorized
            return { _tag: "oauth" as const, account: toAccount(row) }
          },
          Effect.catchTag("SqlError", Effect.die)
        )
      })
    })
  )
