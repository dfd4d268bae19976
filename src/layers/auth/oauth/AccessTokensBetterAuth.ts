import { Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { accessTokenPrefix, resourceOf, toolScopes } from "../../../domain/accounts/OAuth.ts"
import { withMember } from "../../../domain/accounts/Principal.ts"
import { builders } from "../../../domain/accounts/Role.ts"
import { appBudgetPrefix } from "../../../domain/credits/Budget.ts"
import { unauthorized } from "../../../domain/errors.ts"
import { AccessTokens } from "../../../services/accounts/AccessTokens.ts"
import { AccountRow, toAccount } from "../../sql/accounts/AccountsSql.ts"
import { joinMemberBounds, MemberBoundsRow, memberBoundsColumns, toMemberBounds } from "../../sql/keys/MemberBounds.ts"
import { columnsOf, rowOf } from "../../sql/Rows.ts"
import { dieOnSqlError } from "../../sql/Transaction.ts"
import { retryTransient } from "../../sql/Transient.ts"
import { digestsOf } from "../betterAuth/Digest.ts"
import type { SecretOptions } from "../betterAuth/Options.ts"

const tokenPattern = new RegExp(`^${accessTokenPrefix}([A-Za-z]{32})$`)

const accountColumns = columnsOf(AccountRow, "a")
const tokenRow = rowOf(
  Schema.Struct({
    ...AccountRow.fields,
    ...MemberBoundsRow.fields,
    user_id: Schema.String,
    granted: Schema.String,
    budget_id: Schema.NullOr(Schema.String)
  })
)

/** `budgetOfApp` for the account `a` and the token `t`. */
const appBudget = `'${appBudgetPrefix}' || a.id || ':' || t.client_id`

const unlimited = { targets: undefined, networks: undefined }

/** The library stores scopes as a JSON list. Searching the text costs less than parsing it for each request. */
const scopesIn = (list: string) => toolScopes.filter((scope) => list.includes(JSON.stringify(scope)))

/** Does not load the sign-in library. A revoked token ends at once on all replicas. */
export const layer = ({ baseUrl, secrets }: SecretOptions): Layer.Layer<AccessTokens, never, SqlClient.SqlClient> =>
  Layer.effect(
    AccessTokens,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const resources = JSON.stringify([resourceOf(baseUrl)])

      return AccessTokens.of({
        authenticate: Effect.fn("AccessTokens.authenticate")(function* (presented) {
          const [, token] = tokenPattern.exec(Redacted.value(presented)) ?? []
          if (token === undefined) return yield* unauthorized
          const row = yield* retryTransient(
            tokenRow(sql`
                select ${sql.literal(accountColumns)}, ${sql.literal(memberBoundsColumns)}, t.user_id, t.scopes as granted,
                  b.origin_id as budget_id
                from auth_access_tokens t
                join members m on m.user_id = t.user_id and m.account_id = t.account_id
                  and m.role = any (${builders}::text[])
                join accounts a on a.id = t.account_id and a.deleted_at is null
                left join key_bounds b on b.origin_id = ${sql.literal(appBudget)}
                ${sql.literal(joinMemberBounds("t.account_id", "t.user_id"))}
                where t.digest = any (${digestsOf(secrets, "access_token", token)}::text[]) and t.expires_at > clock_timestamp()
                  and t.revoked_at is null and t.resources = ${resources}`)
          )
          if (row === undefined) return yield* unauthorized
          const own = row.budget_id === null ? undefined : { ...unlimited, budgets: { own: row.budget_id } }
          const bounds = withMember(own, toMemberBounds(row))
          const scopes = scopesIn(row.granted)
          return { _tag: "oauth" as const, account: toAccount(row), personId: row.user_id, scopes, bounds }
        }, dieOnSqlError)
      })
    })
  )
