import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../services/Accounts.ts"

/** A person as the sign-in tables know them. */
interface Person {
  readonly email: string
  readonly email_verified: boolean
  readonly account_id: string | null
}

/**
 * Gives a person the account of their address, making it with its trial grant (R32) where there is none.
 *
 * Whoever has not proven that the address is theirs gets no account that is there already: it holds somebody else's
 * credits. Where emails are delivered they get none at all, as proving it costs them a click and a made-up address
 * would otherwise claim the grant of its owner.
 */
export const makeMembership = (options: { readonly verifiedOnly: boolean }) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const accounts = yield* Accounts

    const existing = (email: string) =>
      accounts.byEmail(email).pipe(Effect.catchTag("not_found", () => Effect.succeed(undefined)))

    const entitled = Effect.fnUntraced(function* ({ email, email_verified }: Person) {
      if (!email_verified && options.verifiedOnly) return undefined
      const present = yield* existing(email)
      if (present !== undefined) return email_verified ? present : undefined
      return yield* accounts.create({ email, plan: "trial" }).pipe(
        // Somebody was faster: the operator, or another sign-in of the same person.
        Effect.catchTag("AccountError", () => (email_verified ? existing(email) : Effect.succeed(undefined)))
      )
    })

    /** Does nothing for a person who has an account. In one transaction, so that a failure leaves nothing behind. */
    const join = Effect.fn("Sessions.join")(
      function* (userId: string) {
        const [person] = yield* sql<Person>`
          select u.email, u.email_verified, a.id as account_id
          from auth_users u left join accounts a on a.id = u.account_id and a.deleted_at is null
          where u.id = ${userId} for update of u`
        if (person === undefined || person.account_id !== null) return
        const account = yield* entitled(person)
        if (account !== undefined) yield* sql`update auth_users set account_id = ${account.id} where id = ${userId}`
      },
      sql.withTransaction,
      Effect.catchTag("SqlError", Effect.die)
    )
    return { join }
  })
