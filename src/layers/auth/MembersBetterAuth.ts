import { Duration, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { normalizeEmail } from "../../domain/accounts/emailAddress.ts"
import { joinPath } from "../../domain/accounts/OAuth.ts"
import { keepsOwner, type Role, roles } from "../../domain/accounts/Role.ts"
import { isOpenToInvited } from "../../domain/accounts/signUp.ts"
import { requiresSingleSignOn } from "../../domain/accounts/singleSignOn.ts"
import { boundsIdOfMember } from "../../domain/credits/Budget.ts"
import { InvalidRequest, LastOwner, RateLimited } from "../../domain/errors.ts"
import { unbounded } from "../../domain/keys/KeyBounds.ts"
import { isCarriable, waitText } from "../../domain/text.ts"
import { Accounts } from "../../services/accounts/Accounts.ts"
import {
  type Member,
  Members,
  maxMembers,
  noSuchAccount,
  noSuchMember,
  tooManyMembers
} from "../../services/accounts/Members.ts"
import { Ids } from "../../services/Ids.ts"
import { StoreClock, storeTime } from "../../services/StoreClock.ts"
import { BoundsRow, joinBounds, toBounds, toSpending, writeBounds } from "../sql/keys/KeyRows.ts"
import { memberBoundsId } from "../sql/keys/MemberBounds.ts"
import { inActivity } from "../sql/Requester.ts"
import { columnsOf, idRow, rowOf, rowsOf } from "../sql/Rows.ts"
import { inTransaction } from "../sql/Transaction.ts"
import { type AttemptLimit, type Attempts, makeAttempts } from "./Attempts.ts"
import { digestOf, digestsOf } from "./betterAuth/Digest.ts"
import { accountAccess, endTokens } from "./betterAuth/EndTokens.ts"
import type { SignInOptions } from "./betterAuth/Options.ts"
import { makePerson, makeToken } from "./PeopleBetterAuth.ts"
import { storeResetToken } from "./ResetToken.ts"

const invitationLifetime = Duration.days(7)

/** Emails to addresses that somebody else chose. */
const accountLimit: AttemptLimit = { name: "invitations of account", max: 100, window: Duration.days(1) }
const addressLimit: AttemptLimit = { name: "invitations to address", max: 5, window: Duration.days(1) }

export type MembersOptions = Pick<SignInOptions, "baseUrl" | "oidc" | "secrets" | "signUp">

interface Deps extends MembersOptions {
  readonly sql: SqlClient.SqlClient
  readonly clock: StoreClock["Service"]
  readonly ids: Ids["Service"]
  readonly accounts: Accounts["Service"]
  readonly attempts: Effect.Effect<Attempts>
}

const MemberRow = Schema.Struct({
  id: Schema.String,
  email: Schema.String,
  role: Schema.Literals(roles),
  user_id: Schema.NullOr(Schema.String),
  spent: Schema.BigInt,
  ...BoundsRow.fields
})
type MemberRow = typeof MemberRow.Type
const memberRows = rowsOf(MemberRow)

const readMembers = Effect.fnUntraced(function* ({ clock, sql }: Deps, accountId: string, rest: Statement.Fragment) {
  const now = new Date(yield* storeTime(clock))
  const bounds = joinBounds(sql, memberBoundsId("m.account_id", "coalesce(m.user_id, m.id)"), now)
  return yield* memberRows(sql`
    select m.id, coalesce(u.email, m.email) as email, m.role, m.user_id, coalesce(s.spent, 0) as spent,
      ${sql.literal(columnsOf(BoundsRow, "b"))}
    from members m left join auth_users u on u.id = m.user_id ${bounds} where m.account_id = ${accountId} ${rest}`)
})

const toMember = ({ clock }: Deps, row: MemberRow): Effect.Effect<Member> =>
  Effect.map(storeTime(clock), (now) => {
    const { email, id, role, spent, user_id } = row
    const bounds = toBounds(row)
    const status = user_id === null ? "invited" : "active"
    return { id, email, role, status, bounds, spending: toSpending(bounds, spent, now) }
  })

const list = (deps: Deps): Members["Service"]["list"] =>
  Effect.fn("Members.list")(function* (accountId) {
    const { sql } = deps
    const order = sql`order by m.role <> 'owner', 2, m.id limit ${maxMembers}`
    return yield* Effect.forEach(yield* readMembers(deps, accountId, order), (row) => toMember(deps, row))
  }, Effect.orDie)

/** Locks all members of the account, so that concurrent changes see each other. An account always has one. */
const lockMembers = (deps: Deps, accountId: string) =>
  readMembers(deps, accountId, deps.sql`order by m.id for update of m`)

/** The id comes from a URL path and may contain characters that Postgres rejects. */
const find = (all: ReadonlyArray<MemberRow>, id: string) => {
  const row = all.find((member) => member.id === id)
  return row === undefined ? Effect.fail(noSuchMember) : Effect.succeed(row)
}

const requireOwner = (all: ReadonlyArray<MemberRow>, { id, role, user_id }: MemberRow, after: Role | undefined) => {
  // An invitation does not count: nobody may ever accept it.
  const others = all.filter((member) => member.role === "owner" && member.user_id !== null && member.id !== id)
  return user_id === null || keepsOwner(role, after, others.length)
    ? Effect.void
    : Effect.fail(new LastOwner({ message: "The account must keep an owner. Make another member an owner first." }))
}

const limitInvitations = Effect.fnUntraced(function* (deps: Deps, accountId: string, email: string) {
  const attempts = yield* deps.attempts
  for (const [limit, key] of [
    [addressLimit, `${accountId} ${email}`],
    [accountLimit, accountId]
  ] as const) {
    const seconds = yield* attempts.count(limit, key)
    if (seconds === undefined) continue
    const message = `Too many invitations were sent today. Try again in ${waitText(seconds)}.`
    return yield* new RateLimited({ message, retryAfterSeconds: seconds })
  }
})

const makeLink = Effect.fnUntraced(function* (deps: Deps) {
  const token = yield* makeToken(deps)
  const [{ secret }] = deps.secrets.values()
  const page = new URL(joinPath, deps.baseUrl)
  page.searchParams.set("token", token)
  return { digest: digestOf(secret, "invitation", token), link: Redacted.make(page.href) }
})

const expiry = ({ sql }: Deps) =>
  sql`clock_timestamp() + ${Duration.toMillis(invitationLifetime)} * interval '1 millisecond'`

const emailIssue = (message: string) => InvalidRequest.fromIssues([{ field: "email", message }])

const invite = (deps: Deps): Members["Service"]["invite"] => {
  const { ids, sql } = deps
  return Effect.fn("Members.invite")(function* ({ id: accountId }, email, role) {
    const address = normalizeEmail(email)
    const all = yield* lockMembers(deps, accountId)
    const known = all.find((member) => member.email === address)
    if (known !== undefined) {
      return yield* emailIssue(known.user_id === null ? "is invited already" : "is a member already")
    }
    if (all.length >= maxMembers) return yield* tooManyMembers
    yield* limitInvitations(deps, accountId, address)
    const { digest, link } = yield* makeLink(deps)
    const id = yield* ids.make("mem_")
    yield* sql`
      insert into members (id, account_id, role, email, digest, expires_at, created_at)
      values (${id}, ${accountId}, ${role}, ${address}, ${digest}, ${expiry(deps)}, clock_timestamp())`
    const member: Member = { id, email: address, role, status: "invited", bounds: unbounded, spending: undefined }
    return { member, link }
  }, inActivity(sql))
}

const renew = (deps: Deps): Members["Service"]["renew"] => {
  const { sql } = deps
  return Effect.fn("Members.renew")(function* ({ id: accountId }, memberId) {
    const row = yield* find(yield* lockMembers(deps, accountId), memberId)
    if (row.user_id !== null) return yield* noSuchMember
    yield* limitInvitations(deps, accountId, row.email)
    const { digest, link } = yield* makeLink(deps)
    yield* sql`update members set digest = ${digest}, expires_at = ${expiry(deps)} where id = ${row.id}`
    return { member: yield* toMember(deps, row), link }
  }, inTransaction(sql))
}

const change = (deps: Deps): Members["Service"]["change"] => {
  const { sql } = deps
  return Effect.fn("Members.change")(function* (accountId, memberId, { role, ...bounds }) {
    const all = yield* lockMembers(deps, accountId)
    const row = yield* find(all, memberId)
    if (role !== undefined) {
      yield* requireOwner(all, row, role)
      yield* sql`update members set role = ${role} where id = ${row.id}`
    }
    yield* writeBounds(sql, boundsIdOfMember(accountId, row.user_id ?? row.id), bounds)
    return yield* toMember(deps, yield* find(yield* lockMembers(deps, accountId), memberId))
  }, inActivity(sql))
}

const addressRow = rowOf(Schema.Struct({ email: Schema.String }))

/** A removed person must not get the account's emails, so its address becomes that of an owner who has no account. */
const passAddress = Effect.fnUntraced(function* ({ accounts, sql }: Deps, accountId: string, email: string) {
  const next = yield* addressRow(sql`
    select u.email from members m join auth_users u on u.id = m.user_id
    where m.account_id = ${accountId} and m.role = 'owner'
      and exists (select from accounts where id = ${accountId} and email = ${email})
      and not exists (select from accounts a where a.email = u.email and a.deleted_at is null)
    order by m.created_at, m.id limit 1`)
  // The owner may have opened an account in this moment.
  if (next !== undefined)
    yield* accounts.setEmail(accountId, next.email).pipe(Effect.catchTag("AccountError", () => Effect.void))
})

const deleteInvitation = Effect.fnUntraced(function* ({ sql }: Deps, accountId: string, id: string) {
  yield* sql`delete from members where id = ${id}`
  yield* sql`delete from key_bounds where origin_id = ${boundsIdOfMember(accountId, id)}`
})

const remove = (deps: Deps): Members["Service"]["remove"] => {
  const { sql } = deps
  return Effect.fn("Members.remove")(function* (accountId, memberId) {
    // Locks the person first, like every statement that ends sessions and tokens, to avoid deadlocks.
    if (isCarriable(memberId)) {
      yield* sql`select from auth_users where id = (select user_id from members where id = ${memberId}) for update`
    }
    const all = yield* lockMembers(deps, accountId)
    const row = yield* find(all, memberId)
    yield* requireOwner(all, row, undefined)
    if (row.user_id === null) yield* deleteInvitation(deps, accountId, row.id)
    else {
      yield* sql`delete from members where id = ${row.id}`
      for (const table of accountAccess) {
        yield* sql`delete from ${sql(table)} where user_id = ${row.user_id} and account_id = ${accountId}`
      }
      yield* passAddress(deps, accountId, row.email)
    }
    return yield* toMember(deps, row)
  }, inActivity(sql))
}

const accountRows = rowsOf(
  Schema.Struct({
    id: Schema.String,
    email: Schema.String,
    member_id: Schema.String,
    role: Schema.Literals(roles),
    person: Schema.String
  })
)

const accountsOf = ({ sql }: Deps): Members["Service"]["accountsOf"] =>
  Effect.fn("Members.accountsOf")(function* (personId) {
    const rows = yield* accountRows(sql`
      select a.id, a.email, m.id as member_id, m.role, u.email as person
      from members m join accounts a on a.id = m.account_id and a.deleted_at is null
      join auth_users u on u.id = m.user_id
      where m.user_id = ${personId} order by m.created_at, m.id`)
    return {
      email: rows[0]?.person ?? "",
      accounts: rows.map(({ email, id: accountId, member_id: memberId, role }) => ({
        accountId,
        email,
        memberId,
        role
      }))
    }
  }, Effect.orDie)

const enterAccount = ({ sql }: Deps, sessionId: string, accountId: string) =>
  idRow(sql`
    update auth_sessions s set account_id = m.account_id
    from members m join accounts a on a.id = m.account_id and a.deleted_at is null
    where s.id = ${sessionId} and m.user_id = s.user_id and m.account_id = ${accountId}
    returning s.id`)

const enter = (deps: Deps): Members["Service"]["enter"] =>
  Effect.fn("Members.enter")(function* (sessionId, accountId) {
    const entered = isCarriable(accountId) ? yield* enterAccount(deps, sessionId, accountId) : undefined
    if (entered === undefined) return yield* noSuchAccount
  }, inTransaction(deps.sql))

const invitationRow = rowOf(
  Schema.Struct({
    id: Schema.String,
    email: Schema.String,
    role: Schema.Literals(roles),
    account_id: Schema.String,
    account_email: Schema.String
  })
)

const readInvitation = ({ secrets, sql }: Deps, token: Redacted.Redacted) =>
  invitationRow(sql`
    select m.id, m.email, m.role, m.account_id, a.email as account_email
    from members m join accounts a on a.id = m.account_id and a.deleted_at is null
    where m.digest = any (${digestsOf(secrets, "invitation", Redacted.value(token))}::text[])
      and m.expires_at > clock_timestamp()`)

const invitation = (deps: Deps): Members["Service"]["invitation"] =>
  Effect.fn("Members.invitation")(function* (token) {
    const row = yield* readInvitation(deps, token)
    if (row === undefined) return undefined
    const { account_email: email, account_id: id } = row
    return { email: row.email, role: row.role, account: { id, email } }
  }, Effect.orDie)

const personRow = rowOf(Schema.Struct({ id: Schema.String, email_verified: Schema.Boolean }))

/** The bounds of the invitation become those of the person, whose keys may have some of an earlier membership. */
const moveBounds = ({ sql }: Deps, accountId: string, invitationId: string, personId: string) => sql`
  with invited as (
    delete from key_bounds where origin_id = ${boundsIdOfMember(accountId, invitationId)} returning *
  )
  insert into key_bounds (origin_id, targets, budget_credits, budget_period)
  select ${boundsIdOfMember(accountId, personId)}, targets, budget_credits, budget_period from invited
  on conflict (origin_id) do update set targets = excluded.targets, budget_credits = excluded.budget_credits,
    budget_period = excluded.budget_period`

/** Somebody else may have signed up with the address, so nothing of an unconfirmed person remains. */
export const forgetCredentials = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, personId: string) {
  yield* endTokens(sql, personId)
  yield* sql`delete from auth_sessions where user_id = ${personId}`
  yield* sql`delete from auth_identities where user_id = ${personId}`
})

const join = (deps: Deps): Members["Service"]["join"] => {
  const { oidc, secrets, signUp, sql } = deps
  return Effect.fn("Members.join")(function* (token, session) {
    const found = yield* readInvitation(deps, token)
    if (found === undefined) return undefined
    const person = yield* personRow(sql`
      select id, email_verified from auth_users where email = ${found.email} for update`)
    if (person === undefined && !isOpenToInvited(signUp, found.email)) return { _tag: "signUpClosed" } as const
    const personId = person?.id ?? (yield* makePerson(deps, found.email))
    // A second use of the link waits here, and then finds no invitation. So does a use after its removal.
    const invited = yield* idRow(sql`select id from members where id = ${found.id} and user_id is null for update`)
    if (invited === undefined) return undefined
    // A member may have changed their address to the invited one. Nothing changes for them.
    const joined = yield* idRow(sql`
      update members set user_id = ${personId}, email = null, digest = null, expires_at = null
      where id = ${found.id} and not exists (
        select from members where account_id = ${found.account_id} and user_id = ${personId}
      ) returning id`)
    if (joined === undefined) yield* deleteInvitation(deps, found.account_id, found.id)
    else yield* moveBounds(deps, found.account_id, found.id, personId)
    if (person?.email_verified === true) {
      if (session?.personId !== personId) return { _tag: "signIn" } as const
      yield* enterAccount(deps, session.id, found.account_id)
      return { _tag: "entered" } as const
    }
    if (person !== undefined) yield* forgetCredentials(sql, personId)
    // The link proves the address, so a provider may sign the person in.
    yield* sql`update auth_users set email_verified = true where id = ${personId}`
    if (requiresSingleSignOn(oidc, found.email)) return { _tag: "signIn" } as const
    const reset = yield* makeToken(deps)
    const [{ secret }] = secrets.values()
    yield* storeResetToken(sql, secret, reset, personId)
    return { _tag: "newPassword", token: Redacted.make(reset) } as const
  }, inActivity(sql))
}

/** Does not load the sign-in library. */
export const layer = (
  options: MembersOptions
): Layer.Layer<Members, never, Accounts | Ids | SqlClient.SqlClient | StoreClock> =>
  Layer.effect(
    Members,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // For each use, because a rotation may have changed the secret.
      const attempts = Effect.suspend(() => makeAttempts(options.secrets.values()[0].secret)).pipe(
        Effect.provideService(SqlClient.SqlClient, sql)
      )
      const clock = yield* StoreClock
      const deps: Deps = { ...options, sql, clock, ids: yield* Ids, accounts: yield* Accounts, attempts }
      return Members.of({
        list: list(deps),
        invite: invite(deps),
        renew: renew(deps),
        change: change(deps),
        remove: remove(deps),
        accountsOf: accountsOf(deps),
        enter: enter(deps),
        invitation: invitation(deps),
        join: join(deps)
      })
    })
  )
