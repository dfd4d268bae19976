import { timingSafeEqual } from "node:crypto"
import { Duration, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { roles } from "../../domain/accounts/Role.ts"
import { boundsIdOfMember, budgetOfApp } from "../../domain/credits/Budget.ts"
import { NotFound, unauthorized } from "../../domain/errors.ts"
import { freshFor, maxListedSessions, Sessions } from "../../services/accounts/Sessions.ts"
import type { Keyring } from "../../services/operations/Keyrings.ts"
import { AccountRow, toAccount } from "../sql/accounts/AccountsSql.ts"
import { hasSecondFactor } from "../sql/accounts/secondFactor.ts"
import { joinMemberBounds, MemberBoundsRow, memberBoundsColumns, toMemberBounds } from "../sql/keys/MemberBounds.ts"
import { inActivity } from "../sql/Requester.ts"
import { columnsOf, idRows, rowOf, rowsOf } from "../sql/Rows.ts"
import { dieOnSqlError, inTransaction } from "../sql/Transaction.ts"
import { retryTransient } from "../sql/Transient.ts"
import { digestsOf, endTokenOf, tokenOf } from "./betterAuth/Digest.ts"
import { accountAccess } from "./betterAuth/EndTokens.ts"
import type { SignInOptions } from "./betterAuth/Options.ts"

const accountColumns = columnsOf(AccountRow, "a")
const sessionRow = rowOf(
  Schema.Struct({
    ...AccountRow.fields,
    ...MemberBoundsRow.fields,
    session_id: Schema.String,
    user_id: Schema.String,
    member_id: Schema.String,
    role: Schema.Literals(roles),
    is_fresh: Schema.Boolean,
    has_second_factor: Schema.Boolean
  })
)

interface Deps {
  readonly sql: SqlClient.SqlClient
  readonly secrets: Keyring
  readonly requiresSecondFactor: boolean
}

/** Reads the session on every request, so that a session or membership ends on all replicas at once. */
const authenticate = ({ requiresSecondFactor, secrets, sql }: Deps): Sessions["Service"]["authenticate"] =>
  Effect.fn("Sessions.authenticate")(function* (cookie) {
    const token = tokenOf(secrets, cookie)
    if (token === undefined) return yield* unauthorized
    const row = yield* retryTransient(
      sessionRow(sql`
          select ${sql.literal(accountColumns)}, ${sql.literal(memberBoundsColumns)}, s.id as session_id, s.user_id, m.id as member_id, m.role,
            s.created_at > clock_timestamp() - ${Duration.toMillis(freshFor)} * interval '1 millisecond' as is_fresh,
            ${sql.literal(hasSecondFactor("s.user_id"))} as has_second_factor
          from auth_sessions s
          join members m on m.user_id = s.user_id and m.account_id = s.account_id
          join accounts a on a.id = s.account_id and a.deleted_at is null
          ${sql.literal(joinMemberBounds("m.account_id", "m.user_id"))}
          where s.digest = any (${digestsOf(secrets, "session", token)}::text[]) and s.expires_at > clock_timestamp()`)
    )
    if (row === undefined) return yield* unauthorized
    const { is_fresh: isFresh, member_id: memberId, role, session_id: sessionId, user_id: personId } = row
    const needsSecondFactor = requiresSecondFactor && !row.has_second_factor
    const principal = { sessionId, personId, memberId, role, isFresh, needsSecondFactor, bounds: toMemberBounds(row) }
    return { _tag: "session" as const, account: toAccount(row), ...principal }
  }, dieOnSqlError)

const openRows = rowsOf(
  Schema.Struct({
    id: Schema.String,
    created_at: Schema.Date,
    updated_at: Schema.Date,
    expires_at: Schema.Date,
    user_agent: Schema.NullOr(Schema.String)
  })
)

const list = ({ sql }: Deps): Sessions["Service"]["list"] =>
  Effect.fn("Sessions.list")(function* (personId) {
    const rows = yield* openRows(sql`
      select s.id, s.created_at, s.updated_at, s.expires_at, s.user_agent
      from auth_sessions s where s.user_id = ${personId} and s.expires_at > clock_timestamp()
      order by s.updated_at desc, s.id limit ${maxListedSessions}`)
    return rows.map((row) => ({
      id: row.id,
      createdAt: row.created_at.getTime(),
      extendedAt: row.updated_at.getTime(),
      expiresAt: row.expires_at.getTime(),
      userAgent: row.user_agent ?? undefined
    }))
  }, Effect.orDie)

const unknownSession = new NotFound({ message: "You have no such session." })

const end = ({ sql }: Deps): Sessions["Service"]["end"] =>
  Effect.fn("Sessions.end")(function* (personId, sessionId) {
    // Locks the person first, like every statement that ends sessions and tokens, to avoid deadlocks.
    yield* sql`select 1 from auth_users where id = ${personId} for update`
    const ended = yield* idRows(sql`
      delete from auth_sessions where id = ${sessionId} and user_id = ${personId} returning id`)
    if (ended.length === 0) return yield* unknownSession
  }, inActivity(sql))

const endByLink = ({ secrets, sql }: Deps): Sessions["Service"]["endByLink"] =>
  Effect.fn("Sessions.endByLink")(function* (token) {
    const given = Buffer.from(Redacted.value(token))
    const [id = ""] = Redacted.value(token).split(".", 1)
    const isValid = secrets.values().some(({ secret }) => {
      const expected = Buffer.from(endTokenOf(secret, id))
      return expected.length === given.length && timingSafeEqual(expected, given)
    })
    if (!isValid) return false
    yield* sql`
      select 1 from auth_users where id = (select user_id from auth_sessions where id = ${id}) for update`
    yield* sql`delete from auth_sessions where id = ${id}`
    return true
  }, inTransaction(sql))

const forget = ({ sql }: Deps): Sessions["Service"]["forget"] =>
  Effect.fn("Sessions.forget")(function* (accountId) {
    yield* sql`
      select 1 from auth_users where id in (select user_id from members where account_id = ${accountId}) for update`
    // Foreign keys delete the people's memberships, sessions, identities and tokens.
    const people = yield* idRows(sql`
      delete from auth_users u where u.id in (select user_id from members where account_id = ${accountId})
        and not exists (select from members m where m.user_id = u.id and m.account_id <> ${accountId})
      returning u.id`)
    for (const table of [...accountAccess, "members"]) {
      yield* sql`delete from ${sql(table)} where account_id = ${accountId}`
    }
    yield* sql`
      delete from key_bounds where starts_with(origin_id, ${budgetOfApp(accountId, "")})
        or starts_with(origin_id, ${boundsIdOfMember(accountId, "")})`
    yield* sql`delete from auth_verifications where ${sql.in(
      "value",
      people.map(({ id }) => id)
    )}`
    yield* sql`delete from account_events where account_id = ${accountId}`
  }, inTransaction(sql))

/** Does not load the sign-in library. */
export const layer = ({
  baseUrl,
  requiresSecondFactor = false,
  secrets
}: Pick<SignInOptions, "baseUrl" | "requiresSecondFactor" | "secrets">): Layer.Layer<
  Sessions,
  never,
  SqlClient.SqlClient
> =>
  Layer.effect(
    Sessions,
    Effect.gen(function* () {
      const deps = { sql: yield* SqlClient.SqlClient, secrets, requiresSecondFactor }
      const prefix = baseUrl.startsWith("https:") ? "__Secure-" : ""
      return Sessions.of({
        cookieName: `${prefix}quarry.session_token`,
        authenticate: authenticate(deps),
        list: list(deps),
        end: end(deps),
        endByLink: endByLink(deps),
        forget: forget(deps)
      })
    })
  )
