import { assert, type Vitest } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { Role } from "../../../../src/domain/accounts/Role.ts"
import { boundsIdOfMember } from "../../../../src/domain/credits/Budget.ts"
import { unbounded } from "../../../../src/domain/keys/KeyBounds.ts"
import * as MembersBetterAuth from "../../../../src/layers/auth/MembersBetterAuth.ts"
import type { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { type MemberChange, Members } from "../../../../src/services/accounts/Members.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import { KeyStore } from "../../../../src/services/keys/KeyStore.ts"
import { singleKeyring } from "../../../../src/services/operations/Keyrings.ts"
import type { StoreClock } from "../../../../src/services/StoreClock.ts"
import * as Apps from "../../../support/accounts/Apps.ts"
import {
  dumpOf,
  makeReplica as makeAnyReplica,
  makeBrowser,
  password,
  type Replica,
  type ReplicaOptions
} from "../../../support/accounts/SignIn.ts"
import { makeEmail } from "../../../support/api/searches.ts"

type Services = Accounts | Ids | KeyStore | SqlClient.SqlClient | StoreClock

const makeMembers = Effect.map(
  Layer.build(
    Layer.fresh(
      MembersBetterAuth.layer({
        baseUrl: "https://quarry.test",
        secrets: singleKeyring(Redacted.make("a secret of at least thirty-two characters for tests")),
        signUp: { mode: "open", domains: [] }
      })
    )
  ),
  (context) => Effect.provide(Members, context)
).pipe(Effect.flatten)

/** With https, which apps need. */
const makeReplica = (options: ReplicaOptions = {}) => makeAnyReplica({ baseUrl: "https://quarry.test", ...options })

const monthly = (credits: number) => ({ credits, period: "month" }) as const

type Browser = ReturnType<typeof makeBrowser>

/** A person with a confirmed address and an account of their own. */
const aPerson = Effect.fnUntraced(function* (replica: Replica) {
  const email = yield* makeEmail
  const browser = makeBrowser()
  yield* browser.signUp(replica, email)
  yield* Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`update auth_users set email_verified = true where email = ${email}`
  )
  const { account, personId, sessionId } = yield* browser.whoAmI(replica)
  return { email, browser, account, personId, session: { id: sessionId, personId } }
})

const tokenIn = (link: Redacted.Redacted) =>
  Redacted.make(new URL(Redacted.value(link)).searchParams.get("token") ?? assert.fail("no token"))

const isRefused = (browser: Browser, replica: Replica) =>
  Effect.map(Effect.result(browser.whoAmI(replica)), ({ _tag }) => _tag === "Failure")

/** Two people: the second has joined the account of the first, and uses it. */
const aTeam = Effect.fnUntraced(function* (role: Role = "developer") {
  const members = yield* makeMembers
  const replica = yield* makeReplica()
  const owner = yield* aPerson(replica)
  const member = yield* aPerson(replica)
  const { link, member: invited } = yield* members.invite(owner.account, member.email, role)
  assert.deepStrictEqual(yield* members.join(tokenIn(link), member.session), { _tag: "entered" })
  return { members, replica, owner, member, memberId: invited.id }
})

/** What the people of an account are promised, over any database. */
export const membersConformance = (it: Vitest.MethodsNonLive<Services>): void => {
  it.effect("R67: who signs up owns the account, alone", () =>
    Effect.gen(function* () {
      const members = yield* makeMembers
      const { account, browser, email } = yield* aPerson(yield* makeReplica())
      const principal = yield* browser.whoAmI(yield* makeReplica())
      assert.strictEqual(principal.role, "owner")
      assert.deepStrictEqual(yield* members.list(account.id), [
        { id: principal.memberId, email, role: "owner", status: "active", bounds: unbounded, spending: undefined }
      ])
    })
  )

  it.effect("R67: a person joins by a link, once, and the session uses the account in that role", () =>
    Effect.gen(function* () {
      const members = yield* makeMembers
      const replica = yield* makeReplica()
      const owner = yield* aPerson(replica)
      const guest = yield* aPerson(replica)
      const { link, member } = yield* members.invite(owner.account, guest.email.toUpperCase(), "viewer")
      assert.deepInclude(member, { email: guest.email, role: "viewer", status: "invited" })
      assert.notInclude(yield* dumpOf, Redacted.value(tokenIn(link)))
      const { id, email } = owner.account
      const invitation = { email: guest.email, role: "viewer" as const, account: { id, email } }
      assert.deepStrictEqual(yield* members.invitation(tokenIn(link)), invitation)
      assert.deepStrictEqual(yield* members.invitation(tokenIn(link)), invitation, "looking changes nothing")
      assert.deepStrictEqual(yield* members.join(tokenIn(link), guest.session), { _tag: "entered" })
      assert.isUndefined(yield* members.join(tokenIn(link), guest.session))
      assert.isUndefined(yield* members.invitation(tokenIn(link)))
      assert.deepInclude(yield* guest.browser.whoAmI(replica), { account: owner.account, role: "viewer" })
      assert.deepStrictEqual(
        (yield* members.list(owner.account.id)).map(({ email, role, status }) => [email, role, status]),
        [
          [owner.email, "owner", "active"],
          [guest.email, "viewer", "active"]
        ]
      )
      assert.sameMembers(
        (yield* members.accountsOf(guest.personId)).accounts.map(({ accountId }) => accountId),
        [owner.account.id, guest.account.id]
      )
    })
  )

  it.effect("R67: of fifty uses of one link at once, one joins", () =>
    Effect.gen(function* () {
      const members = yield* makeMembers
      const replica = yield* makeReplica()
      const owner = yield* aPerson(replica)
      const guest = yield* aPerson(replica)
      const { link } = yield* members.invite(owner.account, guest.email, "viewer")
      const uses = yield* Effect.all(
        Array.from({ length: 50 }, () => members.join(tokenIn(link), guest.session)),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(
        uses.filter((joined) => joined !== undefined),
        1
      )
      assert.lengthOf(yield* members.list(owner.account.id), 2)
    })
  )

  it.effect("R67: somebody else's browser does not get the account by the link", () =>
    Effect.gen(function* () {
      const members = yield* makeMembers
      const replica = yield* makeReplica()
      const owner = yield* aPerson(replica)
      const guest = yield* aPerson(replica)
      const stranger = yield* aPerson(replica)
      const { link } = yield* members.invite(owner.account, guest.email, "owner")
      assert.deepStrictEqual(yield* members.join(tokenIn(link), stranger.session), { _tag: "signIn" })
      assert.strictEqual((yield* stranger.browser.whoAmI(replica)).account.id, stranger.account.id)
      const refused = yield* Effect.flip(members.enter(stranger.session.id, owner.account.id))
      assert.strictEqual(refused._tag, "not_found")
    })
  )

  it.effect("R67: a new person chooses a password, joins, and gets no account of their own", () =>
    Effect.gen(function* () {
      const members = yield* makeMembers
      const replica = yield* makeReplica({ delivers: true, signUp: { mode: "invite", domains: [] } })
      const owner = yield* aPerson(yield* makeReplica())
      const email = yield* makeEmail
      const { link } = yield* members.invite(owner.account, email, "billing")
      const joined = yield* members.join(tokenIn(link), undefined)
      if (joined?._tag !== "newPassword") return assert.fail(`joined as ${joined?._tag}`)
      const browser = makeBrowser()
      const reset = { token: Redacted.value(joined.token), newPassword: password }
      assert.strictEqual((yield* browser.post(replica, "/reset-password", reset)).status, 200)
      assert.strictEqual((yield* browser.signIn(replica, email)).status, 200)
      const principal = yield* browser.whoAmI(replica)
      assert.deepInclude(principal, { account: owner.account, role: "billing" })
      assert.lengthOf((yield* members.accountsOf(principal.personId)).accounts, 1)
    })
  )

  it.effect("R67: who signed up with the address before, without confirming it, is out when its reader joins", () =>
    Effect.gen(function* () {
      const members = yield* makeMembers
      const replica = yield* makeReplica()
      const owner = yield* aPerson(replica)
      const email = yield* makeEmail
      const squatter = makeBrowser()
      yield* squatter.signUp(replica, email)
      yield* squatter.whoAmI(replica)
      const { link } = yield* members.invite(owner.account, email, "owner")
      assert.strictEqual((yield* members.join(tokenIn(link), undefined))?._tag, "newPassword")
      assert.isTrue(yield* isRefused(squatter, replica))
      assert.strictEqual((yield* squatter.signIn(replica, email)).status, 401)
    })
  )

  it.effect("R65: the sign-up policy holds for invited people whom the server does not know", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(
        Layer.fresh(
          MembersBetterAuth.layer({
            baseUrl: "https://quarry.test",
            secrets: singleKeyring(Redacted.make("a secret of at least thirty-two characters for tests")),
            signUp: { mode: "closed", domains: [] }
          })
        )
      )
      const members = yield* Effect.provide(Members, context)
      const replica = yield* makeReplica()
      const owner = yield* aPerson(replica)
      const known = yield* aPerson(replica)
      const { link } = yield* members.invite(owner.account, yield* makeEmail, "viewer")
      assert.deepStrictEqual(yield* members.join(tokenIn(link), undefined), { _tag: "signUpClosed" })
      assert.isDefined(yield* members.invitation(tokenIn(link)), "the link stays valid")
      const other = yield* members.invite(owner.account, known.email, "viewer")
      assert.deepStrictEqual(yield* members.join(tokenIn(other.link), known.session), { _tag: "entered" })
    })
  )

  it.effect("R67: an invitation expires, and a new link ends the previous one", () =>
    Effect.gen(function* () {
      const members = yield* makeMembers
      const sql = yield* SqlClient.SqlClient
      const owner = yield* aPerson(yield* makeReplica())
      const { link, member } = yield* members.invite(owner.account, yield* makeEmail, "viewer")
      const again = yield* members.renew(owner.account, member.id)
      assert.isUndefined(yield* members.invitation(tokenIn(link)))
      assert.isDefined(yield* members.invitation(tokenIn(again.link)))
      yield* sql`update members set expires_at = expires_at - interval '7 days 1 second' where id = ${member.id}`
      assert.isUndefined(yield* members.invitation(tokenIn(again.link)))
      assert.isUndefined(yield* members.join(tokenIn(again.link), undefined))
    })
  )

  it.effect("R67: a removed member's sessions and tokens end at once, on every replica, and the keys stay", () =>
    Effect.gen(function* () {
      const { member, memberId, members, owner, replica } = yield* aTeam()
      const other = yield* makeReplica()
      const { tokens } = yield* Apps.letIn(replica, member.browser)
      const keys = yield* KeyStore
      const issued = yield* keys.create(owner.account.id, { label: "k", mode: "live", createdBy: member.personId })
      const access = other.accessTokens.authenticate(Redacted.make(tokens.access))
      assert.strictEqual((yield* access).account.id, owner.account.id)
      yield* members.remove(owner.account.id, memberId)
      assert.isTrue(yield* isRefused(member.browser, other))
      assert.strictEqual((yield* Effect.flip(access))._tag, "unauthorized")
      assert.strictEqual((yield* keys.authenticate(issued.secret)).account.id, owner.account.id)
      assert.strictEqual((yield* keys.list(owner.account.id))[0]?.createdBy, member.email)
      yield* owner.browser.whoAmI(other)
      const back = makeBrowser()
      yield* back.signIn(replica, member.email)
      assert.strictEqual((yield* back.whoAmI(replica)).account.id, member.account.id, "their own account stays")
    })
  )

  it.effect(
    "R67: a token belongs to the account that was used on the consent page, whatever the session uses later",
    () =>
      Effect.gen(function* () {
        const { member, members, owner, replica } = yield* aTeam()
        const { app, tokens } = yield* Apps.letIn(replica, member.browser)
        yield* members.enter(member.session.id, member.account.id)
        const accountOf = (token: string) =>
          Effect.map(replica.accessTokens.authenticate(Redacted.make(token)), ({ account }) => account.id)
        assert.strictEqual(yield* accountOf(tokens.access), owner.account.id)
        const next = Apps.tokensOf(yield* Apps.refresh(replica, app, tokens.refresh))
        assert.strictEqual(yield* accountOf(next.access), owner.account.id)
        const { redeem } = yield* Apps.makeCode(replica, member.browser, app)
        yield* members.enter(member.session.id, owner.account.id)
        const own = Apps.tokensOf(yield* redeem())
        assert.strictEqual(yield* accountOf(own.access), member.account.id)
        const { personId } = member
        const inOwn = { accountId: member.account.id, personId }
        yield* replica.connectedApps.end(inOwn, app)
        assert.strictEqual((yield* Effect.flip(accountOf(own.access)))._tag, "unauthorized")
        assert.strictEqual(yield* accountOf(next.access), owner.account.id)
      })
  )

  it.effect.each(["billing", "viewer"] as const)("R67: apps of a member who became %s are refused", (role) =>
    Effect.gen(function* () {
      const { member, memberId, members, owner, replica } = yield* aTeam()
      const { tokens } = yield* Apps.letIn(replica, member.browser)
      const access = replica.accessTokens.authenticate(Redacted.make(tokens.access))
      yield* access
      yield* members.change(owner.account.id, memberId, { role })
      assert.strictEqual((yield* Effect.flip(access))._tag, "unauthorized")
      assert.strictEqual((yield* member.browser.whoAmI(replica)).role, role)
    })
  )

  it.effect("R67: a member's bounds limit sessions, apps and keys, and stay on the keys after a removal", () =>
    Effect.gen(function* () {
      const { member, memberId, members, owner, replica } = yield* aTeam()
      const keys = yield* KeyStore
      const bounds = { targets: ["alpha_search", "beta_search"] as const, networks: ["203.0.113.0/24"] }
      const key = yield* keys.create(owner.account.id, {
        label: "k",
        mode: "live",
        createdBy: member.personId,
        bounds: { ...bounds, budget: { credits: 9, period: "day" } }
      })
      const { tokens } = yield* Apps.letIn(replica, member.browser)
      const changed = yield* members.change(owner.account.id, memberId, {
        budget: monthly(5),
        targets: ["beta_search", "gamma_search"]
      })
      assert.deepInclude(changed.bounds, { budget: monthly(5), targets: ["beta_search", "gamma_search"] })
      assert.strictEqual(changed.role, "developer", "an absent role stays")
      assert.strictEqual(changed.spending?.credits, 0)
      const id = boundsIdOfMember(owner.account.id, member.personId)
      const targets = ["beta_search", "gamma_search"] as const
      const own = { budgets: { member: id }, targets, networks: undefined }
      const { bounds: ofSession } = yield* member.browser.whoAmI(replica)
      assert.deepStrictEqual(ofSession, own)
      const app = yield* replica.accessTokens.authenticate(Redacted.make(tokens.access))
      assert.deepStrictEqual(app.bounds, own)
      const ofKey = Effect.map(keys.authenticate(key.secret), ({ key: { bounds } }) => bounds)
      assert.deepInclude(yield* ofKey, { budgets: { own: key.key.id, member: id }, targets: ["beta_search"] })
      yield* members.remove(owner.account.id, memberId)
      assert.deepInclude(yield* ofKey, { budgets: { own: key.key.id, member: id } })
      yield* member.browser.signIn(replica, member.email)
      const elsewhere = yield* member.browser.whoAmI(replica)
      assert.isUndefined(elsewhere.bounds, "not in another account")
      const { link } = yield* members.invite(owner.account, member.email, "viewer")
      yield* members.join(tokenIn(link), { id: elsewhere.sessionId, personId: elsewhere.personId })
      assert.deepStrictEqual((yield* member.browser.whoAmI(replica)).bounds, own, "the person returns")
    })
  )

  it.effect("R67: the bounds of an invitation pass to the person who joins, and null removes them", () =>
    Effect.gen(function* () {
      const members = yield* makeMembers
      const replica = yield* makeReplica()
      const owner = yield* aPerson(replica)
      const guest = yield* aPerson(replica)
      const { link, member } = yield* members.invite(owner.account, guest.email, "developer")
      const change = (change: MemberChange) => members.change(owner.account.id, member.id, change)
      yield* change({ budget: monthly(3), targets: ["beta_search"] })
      yield* members.join(tokenIn(link), guest.session)
      const joined = (yield* members.list(owner.account.id)).find(({ id }) => id === member.id)
      assert.deepInclude(joined?.bounds, { budget: monthly(3), targets: ["beta_search"] })
      assert.deepInclude((yield* change({ budget: null })).bounds, { budget: undefined, targets: ["beta_search"] })
      assert.deepStrictEqual((yield* change({ targets: null })).bounds, unbounded)
      assert.isUndefined((yield* guest.browser.whoAmI(replica)).bounds)
    })
  )

  it.effect("R67: a member who took an invited address stays what they are when the link is used", () =>
    Effect.gen(function* () {
      const { member, memberId, members, owner } = yield* aTeam()
      const sql = yield* SqlClient.SqlClient
      const email = yield* makeEmail
      const { link } = yield* members.invite(owner.account, email, "owner")
      yield* sql`update auth_users set email = ${email} where id = ${member.personId}`
      assert.deepStrictEqual(yield* members.join(tokenIn(link), member.session), { _tag: "entered" })
      const all = yield* members.list(owner.account.id)
      assert.deepStrictEqual(
        all.map(({ id, role }) => [id, role]),
        [
          [all[0]?.id, "owner"],
          [memberId, "developer"]
        ]
      )
    })
  )

  it.effect("R67: the last owner stays, also of two who leave at once", () =>
    Effect.gen(function* () {
      const { memberId, members, owner, replica } = yield* aTeam("owner")
      const { memberId: ownerId } = yield* owner.browser.whoAmI(replica)
      const outcomes = yield* Effect.all(
        [ownerId, memberId].map((id) => Effect.result(members.remove(owner.account.id, id))),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(outcomes.map(({ _tag }) => _tag).sort(), ["Failure", "Success"])
      const [last = assert.fail()] = yield* members.list(owner.account.id)
      assert.strictEqual(last.role, "owner")
      assert.strictEqual(
        (yield* Effect.flip(members.change(owner.account.id, last.id, { role: "viewer" })))._tag,
        "last_owner"
      )
      assert.strictEqual((yield* Effect.flip(members.remove(owner.account.id, last.id)))._tag, "last_owner")
    })
  )

  it.effect("R67: an invitation as owner does not count as an owner", () =>
    Effect.gen(function* () {
      const members = yield* makeMembers
      const replica = yield* makeReplica()
      const owner = yield* aPerson(replica)
      const { memberId } = yield* owner.browser.whoAmI(replica)
      yield* members.invite(owner.account, yield* makeEmail, "owner")
      assert.strictEqual((yield* Effect.flip(members.remove(owner.account.id, memberId)))._tag, "last_owner")
    })
  )

  it.effect("R67: members of another account are not found", () =>
    Effect.gen(function* () {
      const { memberId, members, replica } = yield* aTeam()
      const stranger = yield* aPerson(replica)
      for (const id of [memberId, "mem_none", "\0", "\ud800"]) {
        assert.strictEqual((yield* Effect.flip(members.remove(stranger.account.id, id)))._tag, "not_found")
        assert.strictEqual(
          (yield* Effect.flip(members.change(stranger.account.id, id, { role: "viewer" })))._tag,
          "not_found"
        )
        assert.strictEqual((yield* Effect.flip(members.renew(stranger.account, id)))._tag, "not_found")
        const refused = yield* Effect.flip(members.enter(stranger.session.id, id))
        assert.deepStrictEqual(refused, yield* Effect.flip(members.enter(stranger.session.id, "acc_none")))
      }
    })
  )

  it.effect("R67: an account has at most fifty members and invitations, and each address once", () =>
    Effect.gen(function* () {
      const members = yield* makeMembers
      const owner = yield* aPerson(yield* makeReplica())
      const email = yield* makeEmail
      yield* members.invite(owner.account, email, "viewer")
      const twice = yield* Effect.flip(members.invite(owner.account, ` ${email.toUpperCase()}`, "owner"))
      assert.deepInclude(twice, {
        _tag: "invalid_request",
        issues: [{ field: "email", message: "is invited already" }]
      })
      const self = yield* Effect.flip(members.invite(owner.account, owner.email, "owner"))
      assert.deepInclude(self, { issues: [{ field: "email", message: "is a member already" }] })
      for (let n = 2; n < 50; n++) yield* members.invite(owner.account, `${n}.${email}`, "viewer")
      assert.strictEqual(
        (yield* Effect.flip(members.invite(owner.account, `50.${email}`, "viewer")))._tag,
        "invalid_request"
      )
      assert.lengthOf(yield* members.list(owner.account.id), 50)
    })
  )

  it.effect("R67: one address gets five invitations a day from an account", () =>
    Effect.gen(function* () {
      const members = yield* makeMembers
      const owner = yield* aPerson(yield* makeReplica())
      const { member } = yield* members.invite(owner.account, yield* makeEmail, "viewer")
      for (let n = 1; n < 5; n++) yield* members.renew(owner.account, member.id)
      assert.strictEqual((yield* Effect.flip(members.renew(owner.account, member.id)))._tag, "rate_limited")
    })
  )

  it.effect("R67: an account's address passes to another owner when its person is removed", () =>
    Effect.gen(function* () {
      const members = yield* makeMembers
      const sql = yield* SqlClient.SqlClient
      const replica = yield* makeReplica()
      const owner = yield* aPerson(replica)
      const email = yield* makeEmail
      const { link } = yield* members.invite(owner.account, email, "owner")
      yield* members.join(tokenIn(link), undefined)
      yield* members.remove(owner.account.id, (yield* owner.browser.whoAmI(replica)).memberId)
      const [account] = yield* sql`select email from accounts where id = ${owner.account.id}`
      assert.deepStrictEqual(account, { email })
      const back = makeBrowser()
      yield* back.signIn(replica, owner.email)
      const { account: own } = yield* back.whoAmI(replica)
      assert.notStrictEqual(own.id, owner.account.id, "the person starts again")
    })
  )

  it.effect("R66: signing in again in a browser replaces its session, in the same account", () =>
    Effect.gen(function* () {
      const { member, members, owner, replica } = yield* aTeam()
      yield* makeBrowser().signIn(replica, member.email)
      yield* members.enter(member.session.id, owner.account.id)
      const before = yield* member.browser.whoAmI(replica)
      const other = makeBrowser()
      yield* other.signIn(replica, member.email)
      yield* members.enter((yield* other.whoAmI(replica)).sessionId, member.account.id)
      yield* member.browser.signIn(replica, member.email)
      const after = yield* member.browser.whoAmI(replica)
      assert.notStrictEqual(after.sessionId, before.sessionId)
      assert.deepStrictEqual([after.account.id, after.isFresh], [owner.account.id, true])
      const open = (yield* replica.sessions.list(member.personId)).map(({ id }) => id)
      assert.notInclude(open, before.sessionId)
      assert.strictEqual((yield* other.whoAmI(replica)).account.id, member.account.id, "other browsers are unchanged")
      yield* member.browser.signIn(replica, member.email, "a wrong password")
      assert.strictEqual((yield* member.browser.whoAmI(replica)).sessionId, after.sessionId)
    })
  )

  it.effect("R67: forgetting an account keeps people who are members of another", () =>
    Effect.gen(function* () {
      const { member, owner, replica } = yield* aTeam()
      yield* replica.sessions.forget(owner.account.id)
      assert.isTrue(yield* isRefused(owner.browser, replica))
      assert.isTrue(yield* isRefused(member.browser, replica))
      assert.notInclude(yield* dumpOf, owner.personId)
      const back = makeBrowser()
      yield* back.signIn(replica, member.email)
      assert.strictEqual((yield* back.whoAmI(replica)).account.id, member.account.id)
    })
  )
}
