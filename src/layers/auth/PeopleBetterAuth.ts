import { Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Account } from "../../domain/accounts/Account.ts"
import { normalizeEmail } from "../../domain/accounts/emailAddress.ts"
import { confirmPath } from "../../domain/accounts/OAuth.ts"
import { People, PersonError } from "../../services/accounts/People.ts"
import { Ids } from "../../services/Ids.ts"
import { idRow, idRows, rowOf } from "../sql/Rows.ts"
import { dieOnSqlError, inTransaction } from "../sql/Transaction.ts"
import { endTokens } from "./betterAuth/EndTokens.ts"
import type { SecretOptions } from "./betterAuth/Options.ts"
import { storeResetToken, tokenCharacters } from "./ResetToken.ts"

const personRow = rowOf(Schema.Struct({ id: Schema.String, account_id: Schema.NullOr(Schema.String) }))
const expiryRow = rowOf(Schema.Struct({ expires_at: Schema.Date }))

interface Deps extends SecretOptions {
  readonly sql: SqlClient.SqlClient
  readonly ids: Ids["Service"]
}

const endSessions = ({ sql }: Deps) =>
  Effect.fn("People.endSessions")(function* (accountId: string) {
    const people = yield* idRows(sql`select id from auth_users where account_id = ${accountId}`)
    const ended = yield* Effect.forEach(people, ({ id }) =>
      Effect.andThen(endTokens(sql, id), idRows(sql`delete from auth_sessions where user_id = ${id} returning id`))
    )
    return ended.flat().length
  }, inTransaction(sql))

const setEmail = ({ sql }: Deps) =>
  Effect.fn("People.setEmail")(
    function* (accountId: string, email: string) {
      const address = normalizeEmail(email)
      yield* sql`delete from auth_users where email = ${address} and account_id is null and not email_verified`
      const person = yield* idRow(sql`
        update auth_users set email = ${address}, email_verified = false, updated_at = clock_timestamp()
        where account_id = ${accountId} and email <> ${address}
        returning id`)
      if (person !== undefined) yield* sql`delete from auth_verifications where value = ${person.id}`
    },
    sql.withTransaction,
    (effect, _, email) =>
      Effect.catchReason(effect, "SqlError", "UniqueViolation", () => PersonError.taken(normalizeEmail(email))),
    dieOnSqlError
  )

/** A random token of 128 bits, in the library's format so that a rotation of the secret can find it. */
const makeToken = ({ ids }: Deps) =>
  Effect.map(ids.entropy(tokenCharacters / 2), (bytes) => Buffer.from(bytes).toString("hex"))

/** A person who signed up with the account's address joins the account at a sign-in, once the address is confirmed. */
const personOf = Effect.fnUntraced(function* (deps: Deps, { email, id }: Account) {
  const { sql } = deps
  const person = yield* personRow(sql`
    select id, account_id from auth_users where account_id = ${id} or email = ${email}
    order by account_id = ${id} desc nulls last limit 1 for update`)
  if (person !== undefined) {
    return person.account_id === null || person.account_id === id ? person.id : yield* PersonError.taken(email)
  }
  const made = yield* makeToken(deps)
  yield* sql`
    insert into auth_users (id, email, email_verified, name, created_at, updated_at)
    values (${made}, ${email}, false, ${email.split("@", 1).join("")}, clock_timestamp(), clock_timestamp())`
  return made
})

const makeSignInLink = (deps: Deps) =>
  Effect.fn("People.makeSignInLink")(function* (account: Account) {
    if (account.email === "") return yield* PersonError.withoutAddress(account.id)
    const token = yield* makeToken(deps)
    const [{ secret }] = deps.secrets.values()
    const stored = yield* expiryRow(storeResetToken(deps.sql, secret, token, yield* personOf(deps, account)))
    const page = new URL(confirmPath, deps.baseUrl)
    page.searchParams.set("token", token)
    return { link: Redacted.make(page.href), expiresAt: stored?.expires_at.getTime() ?? 0 }
  }, inTransaction(deps.sql))

/** Does not load the sign-in library. */
export const layer = ({ baseUrl, secrets }: SecretOptions): Layer.Layer<People, never, SqlClient.SqlClient | Ids> =>
  Layer.effect(
    People,
    Effect.gen(function* () {
      const deps: Deps = { sql: yield* SqlClient.SqlClient, ids: yield* Ids, baseUrl, secrets }
      return People.of({
        endSessions: endSessions(deps),
        setEmail: setEmail(deps),
        makeSignInLink: makeSignInLink(deps)
      })
    })
  )
