import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../../services/accounts/Accounts.ts"
import { Ids } from "../../../services/Ids.ts"
import { idRow, rowOf } from "../../sql/Rows.ts"
import { inTransaction } from "../../sql/Transaction.ts"
import type { SignUps } from "../SignUps.ts"

const PersonRow = Schema.Struct({ email: Schema.String, email_verified: Schema.Boolean })
const personRow = rowOf(PersonRow)

interface Deps {
  readonly sql: SqlClient.SqlClient
  readonly accounts: Accounts["Service"]
  readonly ids: Ids["Service"]
  /** True if emails are delivered. People then need a confirmed address to get an account. */
  readonly confirmedOnly: boolean
  readonly signUps: SignUps
}

/** The account that an operator created for the address, as long as nobody has joined it. */
const unclaimedAccount = ({ sql }: Deps, email: string) =>
  idRow(sql`
    select a.id from accounts a where a.email = ${email} and a.email <> '' and a.deleted_at is null
      and not exists (select from members m where m.account_id = a.id and m.user_id is not null)`)

/** The account that the person used last. */
const lastAccount = ({ sql }: Deps, userId: string) =>
  idRow(sql`
    select a.id from members m join accounts a on a.id = m.account_id and a.deleted_at is null
    where m.user_id = ${userId}
    order by (
      select max(s.created_at) from auth_sessions s where s.user_id = m.user_id and s.account_id = a.id
    ) desc nulls last, m.created_at desc, a.id limit 1`)

const addOwner = Effect.fnUntraced(function* ({ ids, sql }: Deps, accountId: string, userId: string) {
  yield* sql`
    insert into members (id, account_id, role, user_id, created_at)
    values (${yield* ids.make("mem_")}, ${accountId}, 'owner', ${userId}, clock_timestamp())
    on conflict (account_id, user_id) do nothing`
})

/**
 * A new account for the address. If emails are delivered, only for a confirmed address: another could claim the trial
 * grant of the address's owner (R32). The sign-up policy may have changed since the sign-up, so it is checked again
 * (R65).
 */
const newAccount = Effect.fnUntraced(function* (deps: Deps, { email, email_verified }: typeof PersonRow.Type) {
  const { accounts, confirmedOnly, signUps } = deps
  if (!email_verified && confirmedOnly) return undefined
  const known = yield* accounts.byEmail(email).pipe(Effect.catchTag("not_found", () => Effect.undefined))
  if (known !== undefined) return undefined
  yield* signUps.check(email)
  return yield* accounts.create({ email, plan: "trial" }).pipe(
    // The operator has just created it.
    Effect.catchTag("AccountError", () => (email_verified ? unclaimedAccount(deps, email) : Effect.undefined))
  )
})

export const makeMembership = Effect.fnUntraced(function* (options: Pick<Deps, "confirmedOnly" | "signUps">) {
  const sql = yield* SqlClient.SqlClient
  const deps: Deps = { ...options, sql, accounts: yield* Accounts, ids: yield* Ids }

  /** Returns the account that a new session uses. Only a confirmed address opens the account of the address. */
  const join = Effect.fn("Membership.join")(function* (userId: string) {
    const person = yield* personRow(sql`select email, email_verified from auth_users where id = ${userId} for update`)
    if (person === undefined) return undefined
    const own = person.email_verified ? yield* unclaimedAccount(deps, person.email) : undefined
    if (own !== undefined) yield* addOwner(deps, own.id, userId)
    const last = yield* lastAccount(deps, userId)
    if (last !== undefined) return last.id
    const made = yield* newAccount(deps, person)
    if (made !== undefined) yield* addOwner(deps, made.id, userId)
    return made?.id
  }, inTransaction(sql))

  return { join }
})

export type Membership = Effect.Success<ReturnType<typeof makeMembership>>
