import { Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Account } from "../../domain/accounts/Account.ts"
import { normalizeEmail } from "../../domain/accounts/emailAddress.ts"
import { confirmPath } from "../../domain/accounts/OAuth.ts"
import { partBefore } from "../../domain/text.ts"
import { People, PersonError } from "../../services/accounts/People.ts"
import { Ids } from "../../services/Ids.ts"
import { idRow, idRows, rowOf, rowsOf } from "../sql/Rows.ts"
import { dieOnSqlError, inTransaction } from "../sql/Transaction.ts"
import { endTokens } from "./betterAuth/EndTokens.ts"
import type { SecretOptions } from "./betterAuth/Options.ts"
import { storeResetToken, tokenCharacters } from "./ResetToken.ts"

const claimRow = rowOf(Schema.Struct({ person: Schema.NullOr(Schema.String), may_enter: Schema.Boolean }))
const expiryRow = rowOf(Schema.Struct({ expires_at: Schema.Date }))

interface Deps extends SecretOptions {
  readonly sql: SqlClient.SqlClient
  readonly ids: Ids["Service"]
}

const endSessions = ({ sql }: Deps) =>
  Effect.fn("People.endSessions")(function* (accountId: string) {
    const people = yield* idRows(sql`
      select user_id as id from members where account_id = ${accountId} and user_id is not null`)
    const ended = yield* Effect.forEach(people, ({ id }) =>
      Effect.andThen(endTokens(sql, id), idRows(sql`delete from auth_sessions where user_id = ${id} returning id`))
    )
    return ended.flat().length
  }, inTransaction(sql))

const setEmail = ({ sql }: Deps) =>
  Effect.fn("People.setEmail")(
    function* (account: Pick<Account, "email" | "id">, email: string) {
      const address = normalizeEmail(email)
      yield* sql`
        delete from auth_users u where u.email = ${address} and not u.email_verified
          and not exists (select from members m where m.user_id = u.id)`
      const person = yield* idRow(sql`
        update auth_users u set email = ${address}, email_verified = false, updated_at = clock_timestamp()
        where u.email = ${account.email} and u.email <> ${address}
          and exists (select from members m where m.user_id = u.id and m.account_id = ${account.id})
        returning u.id`)
      if (person !== undefined) yield* sql`delete from auth_verifications where value = ${person.id}`
    },
    sql.withTransaction,
    (effect, _, email) =>
      Effect.catchReason(effect, "SqlError", "UniqueViolation", () => PersonError.taken(normalizeEmail(email))),
    dieOnSqlError
  )

const factorless = rowOf(Schema.Struct({ id: Schema.String, email: Schema.String }))

const resetFactors = ({ sql }: Deps) =>
  Effect.fn("People.resetFactors")(function* (email: string) {
    const person = yield* factorless(sql`
      update auth_users set two_factor_enabled = false where email = ${normalizeEmail(email)} returning id, email`)
    if (person === undefined) return undefined
    for (const table of ["auth_authenticators", "auth_passkeys", "auth_sessions"]) {
      yield* sql`delete from ${sql(table)} where user_id = ${person.id}`
    }
    return person
  }, inTransaction(sql))

/** A random token of 128 bits, in the library's format so that a rotation of the secret can find it. */
export const makeToken = ({ ids }: Pick<Deps, "ids">) =>
  Effect.map(ids.entropy(tokenCharacters / 2), (bytes) => Buffer.from(bytes).toString("hex"))

/** Without a password. The person chooses one with a link. */
export const makePerson = Effect.fnUntraced(function* (deps: Pick<Deps, "ids" | "sql">, email: string) {
  const made = yield* makeToken(deps)
  yield* deps.sql`
    insert into auth_users (id, email, email_verified, name, created_at, updated_at)
    values (${made}, ${email}, false, ${partBefore(email, "@")}, clock_timestamp(), clock_timestamp())`
  return made
})

/** The person of the account's address joins an account without members at a sign-in, once the address is confirmed. */
const personOf = Effect.fnUntraced(function* (deps: Deps, { email, id }: Account) {
  const { sql } = deps
  yield* sql`select from auth_users where email = ${email} for update`
  const claim = yield* claimRow(sql`
    select (select id from auth_users where email = ${email}) as person,
      not exists (select from members where account_id = ${id} and user_id is not null) or exists (
        select from members m join auth_users u on u.id = m.user_id where m.account_id = ${id} and u.email = ${email}
      ) as may_enter`)
  if (claim?.may_enter !== true) return yield* PersonError.notMember(id, email)
  return claim.person ?? (yield* makePerson(deps, email))
})

const makeLink = Effect.fnUntraced(function* (deps: Deps, personId: string) {
  const token = yield* makeToken(deps)
  const [{ secret }] = deps.secrets.values()
  const stored = yield* expiryRow(storeResetToken(deps.sql, secret, token, personId))
  const page = new URL(confirmPath, deps.baseUrl)
  page.searchParams.set("token", token)
  return { link: Redacted.make(page.href), expiresAt: stored?.expires_at.getTime() ?? 0 }
})

const makeSignInLink = (deps: Deps) =>
  Effect.fn("People.makeSignInLink")(function* (account: Account) {
    if (account.email === "") return yield* PersonError.withoutAddress(account.id)
    return yield* makeLink(deps, yield* personOf(deps, account))
  }, inTransaction(deps.sql))

const makeConfirmation = (deps: Deps) =>
  Effect.fn("People.makeConfirmation")(function* (email: string) {
    const person = yield* idRow(deps.sql`
      select id from auth_users where email = ${normalizeEmail(email)} and not email_verified`)
    if (person === undefined) return undefined
    return { personId: person.id, link: (yield* makeLink(deps, person.id)).link }
  }, inTransaction(deps.sql))

const invitationRows = rowsOf(Schema.Struct({ id: Schema.String, account_id: Schema.String }))

const invitationsOf = ({ sql }: Deps): People["Service"]["invitationsOf"] =>
  Effect.fn("People.invitationsOf")(function* (email) {
    const rows = yield* invitationRows(sql`
      select id, account_id from members where email = ${normalizeEmail(email)} order by created_at`)
    return rows.map(({ account_id: accountId, id }) => ({ accountId, memberId: id }))
  }, dieOnSqlError)

/** Does not load the sign-in library. */
export const layer = ({ baseUrl, secrets }: SecretOptions): Layer.Layer<People, never, SqlClient.SqlClient | Ids> =>
  Layer.effect(
    People,
    Effect.gen(function* () {
      const deps: Deps = { sql: yield* SqlClient.SqlClient, ids: yield* Ids, baseUrl, secrets }
      return People.of({
        endSessions: endSessions(deps),
        setEmail: setEmail(deps),
        resetFactors: resetFactors(deps),
        makeConfirmation: makeConfirmation(deps),
        invitationsOf: invitationsOf(deps),
        makeSignInLink: makeSignInLink(deps)
      })
    })
  )
