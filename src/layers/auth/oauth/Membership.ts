import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../../services/accounts/Accounts.ts"
import { rowOf } from "../../sql/Rows.ts"
import { inTransaction } from "../../sql/Transaction.ts"
import type { SignUps } from "../SignUps.ts"

const PersonRow = Schema.Struct({
  email: Schema.String,
  email_verified: Schema.Boolean,
  account_id: Schema.NullOr(Schema.String)
})
const personRow = rowOf(PersonRow)

interface Deps {
  readonly sql: SqlClient.SqlClient
  readonly accounts: Accounts["Service"]
  /** True if emails are delivered. People then need a confirmed address to get an account. */
  readonly confirmedOnly: boolean
  readonly signUps: SignUps
}

const findAccount = (accounts: Accounts["Service"], email: string) =>
  accounts.byEmail(email).pipe(Effect.catchTag("not_found", () => Effect.succeed(undefined)))

/**
 * Only a confirmed address opens an existing account, because the account may hold credits. If emails are delivered, an
 * unconfirmed address gets no new account either: it could claim the trial grant of the address's owner (R32). The
 * sign-up policy may have changed since the sign-up, so it is checked again (R65).
 */
const accountFor = Effect.fnUntraced(function* (
  { accounts, confirmedOnly, signUps }: Deps,
  { email, email_verified }: typeof PersonRow.Type
) {
  if (!email_verified && confirmedOnly) return undefined
  const existing = yield* findAccount(accounts, email)
  if (existing !== undefined) return email_verified ? existing : undefined
  yield* signUps.check(email)
  return yield* accounts.create({ email, plan: "trial" }).pipe(
    // The operator, or another sign-in of the same person, has just created it.
    Effect.catchTag("AccountError", () => (email_verified ? findAccount(accounts, email) : Effect.succeed(undefined)))
  )
})

export const makeMembership = Effect.fnUntraced(function* (options: Pick<Deps, "confirmedOnly" | "signUps">) {
  const sql = yield* SqlClient.SqlClient
  const deps: Deps = { ...options, sql, accounts: yield* Accounts }

  const join = Effect.fn("Membership.join")(function* (userId: string) {
    const person = yield* personRow(sql`
        select u.email, u.email_verified, a.id as account_id
        from auth_users u left join accounts a on a.id = u.account_id and a.deleted_at is null
        where u.id = ${userId} for update of u`)
    if (person === undefined || person.account_id !== null) return
    const account = yield* accountFor(deps, person)
    if (account !== undefined) yield* sql`update auth_users set account_id = ${account.id} where id = ${userId}`
  }, inTransaction(sql))

  return { join }
})

export type Membership = Effect.Success<ReturnType<typeof makeMembership>>
