import { assert, type Vitest } from "@effect/vitest"
import { Effect, Logger, Redacted, Ref } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import type { StoreClock } from "../../../../src/services/StoreClock.ts"
import {
  accessToken,
  askGitHub,
  dumpOf,
  makeBrowser,
  makeReplica,
  password,
  postRoutes,
  providerClient,
  type Replica,
  signInAtGitHub
} from "../../../support/accounts/SignIn.ts"
import { makeEmail } from "../../../support/api/searches.ts"
import { Backdoor } from "../../../support/stores/Backdoor.ts"

type Services = Accounts | Backdoor | Ids | Ledger | SqlClient.SqlClient | StoreClock

const refused = (browser: ReturnType<typeof makeBrowser>, replica: Replica) =>
  Effect.map(Effect.flip(browser.whoAmI(replica)), (error) => assert.strictEqual(error._tag, "unauthorized"))

/** A person who has signed up at a replica. */
const aPerson = Effect.fnUntraced(function* (replica: Replica) {
  const email = yield* makeEmail
  const browser = makeBrowser()
  assert.strictEqual((yield* browser.signUp(replica, email)).status, 200)
  const { account, personId } = yield* browser.whoAmI(replica)
  return { email, browser, account, personId }
})

/** What sign-in promises, over any database. Replicas are layers of their own over the one database. */
export const sessionsConformance = (it: Vitest.MethodsNonLive<Services>): void => {
  it.effect("R32: a sign-up makes one account with the trial grant, and signs in", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const { account, browser, email } = yield* aPerson(replica)
      assert.deepInclude(account, { email, plan: "trial", quota: 100 })
      assert.deepStrictEqual(yield* (yield* Accounts).byEmail(email), account)
      const session = yield* browser.whoAmI(replica)
      assert.strictEqual(session._tag, "session")
      assert.notInclude(browser.cookies.get(replica.sessions.cookieName) ?? "", session.sessionId)
      const { json } = yield* browser.get(replica, "/get-session")
      assert.strictEqual(json.user.email, email)
    })
  )

  it.effect("R32: the address is the same in any letter case, and has one person", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const { account, email } = yield* aPerson(replica)
      const again = yield* makeBrowser().signUp(replica, email.toUpperCase())
      assert.deepStrictEqual([again.status, again.json.issues[0].field], [400, "email"])
      const browser = makeBrowser()
      assert.strictEqual((yield* browser.signIn(replica, email.toUpperCase())).status, 200)
      assert.strictEqual((yield* browser.whoAmI(replica)).account.id, account.id)
    })
  )

  it.effect("a person sees their sessions and ends one, at every replica; nobody else can", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const { browser, email, personId } = yield* aPerson(replica)
      const second = makeBrowser()
      yield* second.post(replica, "/sign-in/email", { email, password }, { "user-agent": "a second browser" })
      const { sessionId } = yield* browser.whoAmI(replica)
      const other = yield* makeReplica()
      const open = yield* other.sessions.list(personId)
      assert.lengthOf(open, 2)
      assert.include(
        open.map(({ id }) => id),
        sessionId
      )
      const theirs = open.find(({ userAgent }) => userAgent === "a second browser") ?? assert.fail("no second session")
      assert.isAbove(theirs.expiresAt, theirs.createdAt)
      const stranger = yield* aPerson(replica)
      assert.strictEqual((yield* Effect.flip(other.sessions.end(stranger.personId, theirs.id)))._tag, "not_found")
      yield* second.whoAmI(replica)
      yield* other.sessions.end(personId, theirs.id)
      yield* refused(second, replica)
      yield* browser.whoAmI(replica)
      assert.strictEqual((yield* Effect.flip(other.sessions.end(personId, theirs.id)))._tag, "not_found")
    })
  )

  it.effect("a wrong password and an unknown address are refused alike", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const { email } = yield* aPerson(replica)
      const wrong = yield* makeBrowser().signIn(replica, email, "wrong horse battery staple")
      const unknown = yield* makeBrowser().signIn(replica, yield* makeEmail)
      assert.strictEqual(wrong.status, 401)
      assert.deepStrictEqual([unknown.status, unknown.text], [wrong.status, wrong.text])
      assert.isNull(wrong.headers.get("set-cookie"))
    })
  )

  it.effect("a session that ended at one replica is refused at once by the other", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* makeReplica(), yield* makeReplica()]
      const { account, browser } = yield* aPerson(one)
      assert.strictEqual((yield* browser.whoAmI(two)).account.id, account.id)
      const cookie = browser.cookies.get(one.sessions.cookieName) ?? ""
      assert.strictEqual((yield* browser.post(one, "/sign-out")).status, 200)
      assert.isUndefined(browser.cookies.get(one.sessions.cookieName))
      browser.cookies.set(one.sessions.cookieName, cookie)
      yield* refused(browser, two)
      yield* refused(browser, one)
      assert.isNull((yield* browser.get(two, "/get-session")).json)
    })
  )

  it.effect("a new password ends every other session on every replica, asked to or not", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* makeReplica(), yield* makeReplica()]
      const { browser, email } = yield* aPerson(one)
      const other = makeBrowser()
      yield* other.signIn(two, email)
      yield* other.whoAmI(one)
      const before = browser.cookies.get(one.sessions.cookieName) ?? ""
      const change = { currentPassword: password, newPassword: "another horse", revokeOtherSessions: false }
      const wrong = yield* browser.post(one, "/change-password", { ...change, currentPassword: "wrong horse" })
      assert.strictEqual(wrong.status, 400)
      yield* other.whoAmI(two)
      assert.strictEqual((yield* browser.post(one, "/change-password", change)).status, 200)
      yield* refused(other, two)
      yield* browser.whoAmI(two)
      browser.cookies.set(one.sessions.cookieName, before)
      yield* refused(browser, two)
      assert.strictEqual((yield* makeBrowser().signIn(two, email)).status, 401)
      assert.strictEqual((yield* makeBrowser().signIn(two, email, "another horse")).status, 200)
    })
  )

  it.effect("a forgotten password is replaced by a link, once, which ends every session", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* makeReplica(), yield* makeReplica()]
      const { browser, email } = yield* aPerson(one)
      yield* one.nextLink
      const visitor = makeBrowser()
      const asked = yield* visitor.post(one, "/request-password-reset", { email, redirectTo: "/dashboard/reset" })
      const { link, token } = yield* one.nextLink
      assert.match(link, /^http:\/\/quarry\.test\/dashboard\/reset\?token=[0-9A-Za-z]{24}$/)
      const unknown = yield* visitor.post(one, "/request-password-reset", { email: yield* makeEmail })
      assert.strictEqual(unknown.text, asked.text)
      const reset = { token, newPassword: "another horse" }
      assert.strictEqual((yield* visitor.post(two, "/reset-password", reset)).status, 200)
      yield* refused(browser, one)
      yield* refused(browser, two)
      assert.strictEqual((yield* visitor.post(one, "/reset-password", reset)).status, 400)
      assert.strictEqual((yield* makeBrowser().signIn(two, email, "another horse")).status, 200)
    })
  )

  it.effect("sessions expire, and are removed at a later sign-in", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const replica = yield* makeReplica()
      const { browser, email } = yield* aPerson(replica)
      const { sessionId } = yield* browser.whoAmI(replica)
      const [row] = yield* sql<{ days: number }>`
        select round(extract(epoch from expires_at - clock_timestamp()) / 86400)::integer as days
        from auth_sessions where id = ${sessionId}`
      assert.strictEqual(row?.days, 7)
      yield* sql`update auth_sessions set expires_at = clock_timestamp() where id = ${sessionId}`
      yield* refused(browser, replica)
      assert.isNull((yield* makeBrowserWith(browser.cookies).get(replica, "/get-session")).json)
      yield* makeBrowser().signIn(replica, email)
      assert.lengthOf(yield* sql`select 1 from auth_sessions where id = ${sessionId}`, 0)
    })
  )

  it.effect("R32: of twenty sign-ups at once over two replicas, one makes a person, an account and a grant", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const replicas = [yield* makeReplica(), yield* makeReplica()]
      const email = yield* makeEmail
      const answers = yield* Effect.all(
        Array.from({ length: 20 }, (_, n) =>
          makeBrowser().signUp(replicas[n % 2] ?? assert.fail(), n % 3 === 0 ? email.toUpperCase() : email)
        ),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [200, ...Array(19).fill(400)])
      const account = yield* (yield* Accounts).byEmail(email)
      assert.lengthOf(yield* sql`select 1 from accounts where email = ${email}`, 1)
      assert.lengthOf(
        yield* sql`
          select 1 from auth_users u join members m on m.user_id = u.id
          where u.email = ${email} and m.account_id = ${account.id} and m.role = 'owner'`,
        1
      )
      assert.deepInclude(yield* (yield* Ledger).allowance(account), { quota: 100, used: 0 })
    })
  )

  it.effect("R32: an address that signs up again after deletion has what is left of its grant", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const ledger = yield* Ledger
      const first = yield* aPerson(replica)
      yield* ledger.reserve(first.account, 40)
      yield* (yield* Backdoor).deleteAccount(first.account.id)
      yield* refused(first.browser, replica)
      yield* replica.sessions.forget(first.account.id)
      const browser = makeBrowser()
      assert.strictEqual((yield* browser.signUp(replica, first.email)).status, 200)
      const { account } = yield* browser.whoAmI(replica)
      assert.notStrictEqual(account.id, first.account.id)
      assert.deepInclude(yield* ledger.allowance(account), { quota: 100, used: 40 })
    })
  )

  it.effect("forgetting an account removes the person from every table, and nobody else", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const gone = yield* aPerson(replica)
      const stays = yield* aPerson(replica)
      yield* gone.browser.post(replica, "/request-password-reset", { email: gone.email })
      const { user } = (yield* gone.browser.get(replica, "/get-session")).json
      assert.include(yield* dumpOf, user.id)
      yield* (yield* Backdoor).deleteAccount(gone.account.id)
      yield* replica.sessions.forget(gone.account.id)
      const dump = yield* dumpOf
      assert.notInclude(dump, user.id)
      assert.notInclude(dump, gone.email)
      yield* refused(gone.browser, replica)
      yield* stays.browser.whoAmI(replica)
      yield* replica.sessions.forget("acc_none")
    })
  )

  it.effect("an account that an operator made is taken over when its address is confirmed, and not before", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const email = yield* makeEmail
      const account = yield* (yield* Accounts).create({ email, plan: "business" })
      const browser = makeBrowser()
      assert.strictEqual((yield* browser.signUp(replica, email)).status, 200)
      yield* refused(browser, replica)
      yield* browser.signIn(replica, email)
      yield* refused(browser, replica)
      const { link, token } = yield* replica.nextLink
      assert.strictEqual(link, `${replica.baseUrl}/oauth/confirm?token=${token}`)
      yield* browser.post(replica, "/reset-password", { token, newPassword: "the owner's own" })
      const owner = makeBrowser()
      assert.strictEqual((yield* owner.signIn(replica, email, "the owner's own")).status, 200)
      assert.deepStrictEqual((yield* owner.whoAmI(replica)).account, account)
    })
  )

  it.effect(
    "without a mail server too, a link that an operator hands on lets in its reader and not who signed up",
    () =>
      Effect.gen(function* () {
        const replica = yield* makeReplica({ delivers: false })
        const email = yield* makeEmail
        const account = yield* (yield* Accounts).create({ email, plan: "growth" })
        const [attacker, owner] = [makeBrowser(), makeBrowser()]
        yield* attacker.signUp(replica, email)
        const { link, token } = yield* replica.nextLink
        yield* Effect.option(owner.get(replica, link))
        yield* Effect.option(owner.get(replica, `/verify-email?token=${token}`))
        yield* attacker.signIn(replica, email)
        yield* refused(attacker, replica)
        yield* owner.post(replica, "/reset-password", { token, newPassword: "the owner's own" })
        yield* refused(attacker, replica)
        assert.strictEqual((yield* attacker.signIn(replica, email)).status, 401)
        assert.strictEqual((yield* owner.signIn(replica, email, "the owner's own")).status, 200)
        assert.deepStrictEqual((yield* owner.whoAmI(replica)).account, account)
      })
  )

  it.effect("the link of a reset that names no page leads to the page that sets the password", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const { email } = yield* aPerson(replica)
      yield* replica.nextLink
      yield* makeBrowser().post(replica, "/request-password-reset", { email })
      const { link, token } = yield* replica.nextLink
      assert.strictEqual(link, `${replica.baseUrl}/oauth/confirm?token=${token}`)
    })
  )

  it.effect("where emails are delivered, an address has no session and no account before it is confirmed", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica({ delivers: true })
      const email = yield* makeEmail
      const browser = makeBrowser()
      const fresh = yield* browser.signUp(replica, email)
      assert.isFalse(fresh.json.signed_in)
      assert.isUndefined(browser.cookies.get(replica.sessions.cookieName))
      assert.strictEqual((yield* Effect.flip((yield* Accounts).byEmail(email)))._tag, "not_found")
      const { token } = yield* replica.nextLink
      assert.strictEqual((yield* browser.signIn(replica, email)).status, 403)
      const taken = yield* makeBrowser().signUp(replica, email)
      assert.deepStrictEqual([taken.status, Object.keys(taken.json.user)], [200, Object.keys(fresh.json.user)])
      yield* browser.post(replica, "/reset-password", { token, newPassword: password })
      assert.strictEqual((yield* browser.signIn(replica, email)).status, 200)
      assert.deepInclude((yield* browser.whoAmI(replica)).account, { email, plan: "trial" })
    })
  )

  it.effect(
    "the person who confirms an address chooses its password: another's sign-up for it opens nothing, before or after",
    () =>
      Effect.gen(function* () {
        const [one, two] = [yield* makeReplica({ delivers: true }), yield* makeReplica({ delivers: true })]
        const email = yield* makeEmail
        const account = yield* (yield* Accounts).create({ email, plan: "growth" })
        const [attacker, owner] = [makeBrowser(), makeBrowser()]
        assert.strictEqual((yield* attacker.signUp(one, email)).status, 200)
        const { link, token } = yield* one.nextLink
        // As a mail gateway does, which looks at every link.
        yield* Effect.option(owner.get(one, link))
        assert.strictEqual((yield* attacker.signIn(one, email)).status, 403)
        const second = yield* one.nextLink
        const chosen = { token: second.token, newPassword: "the owner's own" }
        assert.strictEqual((yield* owner.post(two, "/reset-password", chosen)).status, 200)
        assert.strictEqual((yield* makeBrowser().signIn(two, email)).status, 401)
        yield* refused(attacker, two)
        assert.strictEqual((yield* owner.signIn(two, email, "the owner's own")).status, 200)
        assert.deepStrictEqual((yield* owner.whoAmI(one)).account, account)
        assert.strictEqual((yield* owner.post(one, "/reset-password", chosen)).status, 400)
        // An earlier link is valid for its hour, and still only for the reader of the address's mail.
        assert.isAbove(token.length, 16)
      })
  )

  it.effect("a confirmation ends every session that the address had before, on every replica", () =>
    Effect.gen(function* () {
      const [before, one] = [yield* makeReplica(), yield* makeReplica({ delivers: true })]
      const email = yield* makeEmail
      const account = yield* (yield* Accounts).create({ email, plan: "growth" })
      const attacker = makeBrowser()
      yield* attacker.signUp(before, email)
      assert.strictEqual((yield* attacker.get(one, "/get-session")).json.user.email, email)
      const owner = makeBrowser()
      yield* owner.post(one, "/send-verification-email", { email })
      const { token } = yield* one.nextLink
      yield* owner.post(one, "/reset-password", { token, newPassword: "the owner's own" })
      const kept = new Map(attacker.cookies)
      for (const replica of [before, one]) {
        assert.isNull((yield* makeBrowserWith(kept).get(replica, "/get-session")).json)
        yield* refused(makeBrowserWith(kept), replica)
      }
      assert.strictEqual((yield* owner.signIn(before, email, "the owner's own")).status, 200)
      assert.deepStrictEqual((yield* owner.whoAmI(one)).account, account)
    })
  )

  it.effect("a sign-up for an address that waits for its confirmation sends a link and changes no password", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica({ delivers: true })
      const email = yield* makeEmail
      const attacker = makeBrowser()
      const fresh = yield* attacker.signUp(replica, email)
      yield* replica.nextLink
      const owner = makeBrowser()
      const body = { email, password: "the owner's own", name: "A Person", callbackURL: "/oauth/sign-in?a=b" }
      const again = yield* owner.post(replica, "/sign-up/email", body)
      assert.deepStrictEqual([again.status, Object.keys(again.json)], [200, Object.keys(fresh.json)])
      const { link, token } = yield* replica.nextLink
      assert.strictEqual(new URL(link).pathname, "/oauth/confirm")
      assert.strictEqual(new URL(link).searchParams.get("callbackURL"), "/oauth/sign-in?a=b")
      assert.strictEqual((yield* owner.signIn(replica, email, "the owner's own")).status, 401)
      yield* owner.post(replica, "/reset-password", { token, newPassword: "the owner's own" })
      assert.strictEqual((yield* owner.signIn(replica, email, "the owner's own")).status, 200)
      assert.strictEqual((yield* attacker.signIn(replica, email)).status, 401)
    })
  )

  it.effect("a sign-up with somebody else's address loses it to the owner's new password", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica({ delivers: true })
      const email = yield* makeEmail
      const account = yield* (yield* Accounts).create({ email, plan: "growth" })
      yield* makeBrowser().signUp(replica, email)
      yield* replica.nextLink
      const owner = makeBrowser()
      yield* owner.post(replica, "/request-password-reset", { email })
      const { token } = yield* replica.nextLink
      yield* owner.post(replica, "/reset-password", { token, newPassword: "the owner's own" })
      assert.strictEqual((yield* makeBrowser().signIn(replica, email)).status, 401)
      assert.strictEqual((yield* owner.signIn(replica, email, "the owner's own")).status, 200)
      assert.deepStrictEqual((yield* owner.whoAmI(replica)).account, account)
    })
  )

  it.effect(
    "a sign-in at GitHub takes over the account of an address that GitHub has verified, and keeps no token",
    () =>
      Effect.gen(function* () {
        const replica = yield* makeReplica({ github: providerClient })
        const email = yield* makeEmail
        const account = yield* (yield* Accounts).create({ email, plan: "growth" })
        const browser = yield* signInAtGitHub(replica, { email, verified: true })
        assert.deepStrictEqual((yield* browser.whoAmI(replica)).account, account)
        assert.strictEqual((yield* makeBrowser().signUp(replica, email)).status, 400)
        const again = yield* signInAtGitHub(replica, { email, verified: true })
        assert.strictEqual((yield* again.whoAmI(replica)).account.id, account.id)
        assert.notInclude(yield* dumpOf, accessToken)
      })
  )

  it.effect("an address that GitHub has not verified, or that somebody else signed up with, opens nothing", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica({ github: providerClient })
      const unverified = yield* signInAtGitHub(replica, { email: yield* makeEmail, verified: false })
      yield* refused(unverified, replica)
      const { account, browser, email } = yield* aPerson(replica)
      const owner = yield* signInAtGitHub(replica, { email, verified: true })
      yield* refused(owner, replica)
      assert.strictEqual((yield* browser.whoAmI(replica)).account.id, account.id)
    })
  )

  it.effect("R68: a person's first sign-in at a provider is part of their account's activity", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica({ github: providerClient })
      const { account, email } = yield* aPerson(replica)
      const sql = yield* SqlClient.SqlClient
      yield* sql`update auth_users set email_verified = true where email = ${email}`
      const browser = yield* signInAtGitHub(replica, { email, verified: true })
      const events = yield* sql<{ readonly type: string; readonly address: string }>`
        select type, address from account_events where account_id = ${account.id} order by ordinal desc limit 2`
      assert.deepStrictEqual(events, [
        { type: "person.signed_in", address: browser.client },
        { type: "person.identity_added", address: browser.client }
      ])
    })
  )

  it.effect("an answer from a provider that this browser did not ask for signs nobody in", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica({ github: providerClient })
      const victim = makeBrowser()
      const { state } = yield* askGitHub(replica, makeBrowser())
      assert.notInclude(yield* dumpOf, state)
      const answer = yield* victim.get(replica, `/callback/github?code=a-code&state=${state}`)
      assert.include(answer.headers.get("location"), "error=state_mismatch")
      yield* refused(victim, replica)
      for (const provider of ["google", "gitlab"]) {
        assert.strictEqual((yield* makeBrowser().post(replica, "/sign-in/social", { provider })).status >= 400, true)
      }
    })
  )

  it.effect("a sign-up that fails half-way leaves nothing that blocks the next", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const broken = yield* makeReplica().pipe(
        Effect.provideService(Accounts, { ...accounts, create: () => Effect.die(new Error("the disk is full")) })
      )
      const email = yield* makeEmail
      const exit = yield* Effect.exit(makeBrowser().signUp(broken, email))
      assert.include(String(exit), "the disk is full")
      assert.notInclude(yield* dumpOf, email)
      const whole = yield* makeReplica()
      const browser = makeBrowser()
      assert.strictEqual((yield* browser.signUp(whole, email)).status, 200)
      assert.strictEqual((yield* browser.whoAmI(whole)).account.email, email)
    })
  )

  it.effect("a cookie that is forged, cut, of another deployment or no cookie at all is refused", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const replica = yield* makeReplica()
      const stranger = yield* makeReplica({ secret: "another secret of at least thirty-two characters" })
      const { browser } = yield* aPerson(replica)
      const { browser: other } = yield* aPerson(replica)
      const { sessionId } = yield* browser.whoAmI(replica)
      const encoded = browser.cookies.get(replica.sessions.cookieName) ?? ""
      const cookie = decodeURIComponent(encoded)
      const [token = "", signature = ""] = cookie.split(".")
      const [, otherSignature = ""] = decodeURIComponent(other.cookies.get(replica.sessions.cookieName) ?? "").split(
        "."
      )
      const [row] = yield* sql<{ digest: string }>`select digest from auth_sessions where id = ${sessionId}`
      const flip = (text: string) => (text.startsWith("A") ? "B" : "A") + text.slice(1)
      const authenticate = (value: string, at = replica) => at.sessions.authenticate(Redacted.make(value))
      for (const value of [cookie, encoded]) {
        assert.strictEqual((yield* authenticate(value)).sessionId, sessionId)
      }
      const forged = [
        "",
        ".",
        "nothing",
        token,
        `${token}.`,
        `${token}.${flip(signature)}`,
        `${flip(token)}.${signature}`,
        `${token}.${otherSignature}`,
        `${token}.${signature.slice(0, -1)}`,
        `${token}.${respelt(signature)}`,
        `${token}.${signature}=`,
        `${cookie} `,
        `${cookie}\n`,
        `${row?.digest}.${signature}`,
        encodeURIComponent(encoded),
        `%${cookie}`,
        "x".repeat(100_000)
      ]
      for (const value of forged) {
        assert.strictEqual((yield* Effect.flip(authenticate(value)))._tag, "unauthorized", JSON.stringify(value))
      }
      assert.strictEqual((yield* Effect.flip(authenticate(cookie, stranger)))._tag, "unauthorized")
    })
  )

  it.effect("over https the cookie is __Secure-, and never readable by scripts", () =>
    Effect.gen(function* () {
      const plain = yield* makeReplica()
      assert.strictEqual(plain.sessions.cookieName, "quarry.session_token")
      const secure = yield* makeReplica({ baseUrl: "https://quarry.test" })
      assert.strictEqual(secure.sessions.cookieName, "__Secure-quarry.session_token")
      const browser = makeBrowser()
      const { headers } = yield* browser.signUp(secure, yield* makeEmail)
      assert.match(
        headers.getSetCookie().find((cookie) => cookie.includes("session_token")) ?? "",
        /^__Secure-quarry\.session_token=\S+; Max-Age=604800; Path=\/; HttpOnly; Secure; SameSite=Lax$/
      )
      yield* browser.whoAmI(secure)
    })
  )

  it.effect("what is not offered is not found, signed in or not", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const { browser } = yield* aPerson(replica)
      for (const path of unoffered) {
        for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
          const url = `${replica.baseUrl}${path}`
          const answer = yield* Effect.result(replica.routes.handle(new Request(url, { method }), browser.client))
          assert.strictEqual(answer._tag, "Failure", `${method} ${path}`)
        }
      }
      for (const [method, path] of [
        ["GET", "/sign-out"],
        ["GET", "/sign-in/email"],
        ["POST", "/get-session"]
      ] as const) {
        const url = `${replica.baseUrl}/api/auth${path}`
        const refusal = yield* Effect.flip(replica.routes.handle(new Request(url, { method }), browser.client))
        assert.strictEqual(refusal._tag, "not_found")
      }
    })
  )

  it.effect("attempts to sign in are counted by client, over all replicas", () =>
    Effect.gen(function* () {
      const replicas = [yield* makeReplica(), yield* makeReplica()]
      const { email } = yield* aPerson(replicas[0] ?? assert.fail())
      const guesser = makeBrowser()
      const statuses: Array<number> = []
      for (let n = 0; n < 5; n++) {
        statuses.push((yield* guesser.signIn(replicas[n % 2] ?? assert.fail(), email, `guess number ${n}`)).status)
      }
      assert.deepStrictEqual(statuses, [401, 401, 401, 429, 429])
      assert.strictEqual((yield* makeBrowser().signIn(replicas[0] ?? assert.fail(), email)).status, 200)
    })
  )

  it.effect("a client cannot say what address its attempts are counted under", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const guesser = makeBrowser()
      const statuses: Array<number> = []
      for (let n = 0; n < 4; n++) {
        const headers = { "x-quarry-client": `10.9.9.${n}`, "x-forwarded-for": `10.9.9.${n}` }
        const body = { email: "nobody@example.com", password }
        statuses.push((yield* guesser.post(replica, "/sign-in/email", body, headers)).status)
      }
      assert.deepStrictEqual(statuses, [401, 401, 401, 429])
    })
  )

  it.effect("pages of other origins change nothing", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const { browser, email } = yield* aPerson(replica)
      const otherSite = { origin: "https://evil.example" }
      assert.strictEqual((yield* browser.post(replica, "/sign-out", undefined, otherSite)).status, 403)
      assert.strictEqual((yield* browser.post(replica, "/sign-out", undefined, { origin: "null" })).status, 403)
      const signIn = yield* makeBrowser().post(replica, "/sign-in/email", { email, password }, otherSite)
      assert.strictEqual(signIn.status, 403)
      const reset = { email, redirectTo: "https://evil.example/" }
      const { json, status } = yield* makeBrowser().post(replica, "/request-password-reset", reset)
      assert.deepStrictEqual([status, json.issues[0].field], [400, "redirectTo"])
      yield* browser.whoAmI(replica)
    })
  )

  it.effect(
    "an address that a request names leads to a path of this site, or the request is refused and says which",
    () =>
      Effect.gen(function* () {
        const replica = yield* makeReplica()
        const { email } = yield* aPerson(replica)
        yield* replica.nextLink
        for (const callback of [
          "/.//evil.example",
          "/../..//evil.example",
          "/%2e//evil.example",
          "/./.././/evil.example/x"
        ]) {
          const person = yield* aPerson(replica)
          yield* replica.nextLink
          yield* makeBrowser().post(replica, "/send-verification-email", {
            email: person.email,
            callbackURL: callback
          })
          const confirmation = new URL((yield* replica.nextLink).link)
          assert.match(confirmation.searchParams.get("callbackURL") ?? "", /^\/evil\.example/)
          yield* makeBrowser().post(replica, "/request-password-reset", { email: person.email, redirectTo: callback })
          const reset = new URL((yield* replica.nextLink).link)
          assert.strictEqual(reset.origin, replica.baseUrl)
          assert.match(reset.pathname, /^\/evil\.example/)
        }
        const otherSites = [
          "https://evil.example",
          "//evil.example",
          "/\\evil.example",
          "\t//evil.example",
          "javascript:alert(1)"
        ]
        for (const address of otherSites) {
          for (const [path, field] of [
            ["/sign-up/email", "callbackURL"],
            ["/sign-in/email", "callbackURL"],
            ["/send-verification-email", "callbackURL"],
            ["/request-password-reset", "redirectTo"]
          ] as const) {
            const { json, status } = yield* makeBrowser().post(replica, path, {
              email,
              password,
              name: "n",
              [field]: address
            })
            assert.deepStrictEqual([status, json.issues[0].field], [400, field])
          }
        }
        const github = yield* makeReplica({ github: providerClient })
        for (const field of ["callbackURL", "errorCallbackURL", "newUserCallbackURL"]) {
          const body = { provider: "github", [field]: "https://evil.example/" }
          const { json, status } = yield* makeBrowser().post(github, "/sign-in/social", body)
          assert.deepStrictEqual([status, json.issues[0].field], [400, field])
        }
      })
  )

  it.effect("R70: an address or an app's request that the library would be slow with is refused before it", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica({ baseUrl: "https://quarry.test", github: providerClient })
      const host = Array.from({ length: 5000 }, (_, n) => String.fromCodePoint(0x4e00 + n)).join("")
      const request = (count: number) => Array.from({ length: count }, (_, n) => `k${n}=1`).join("&")
      const { email } = yield* aPerson(replica)
      for (const [path, body, message] of [
        ["/sign-in/social", { provider: "github", callbackURL: `//${host}` }, "must be an address of this site"],
        [
          "/sign-in/social",
          { provider: "github", callbackURL: `/${"\ufdfa".repeat(10_000)}` },
          "must be an address of this site"
        ],
        [
          "/sign-in/social",
          { provider: "github", callbackURL: `/a/${"\ufdfa".repeat(10_000)}` },
          "must have at most 20000 characters"
        ],
        ["/request-password-reset", { email, redirectTo: `//${host}` }, "must be an address of this site"],
        ["/sign-in/email", { email, password, oauth_query: request(65) }, "must have at most 64 parameters"],
        ["/oauth2/consent", { accept: true, oauth_query: "sig=a&".repeat(65) }, "must have at most 64 parameters"]
      ] as const) {
        const { json, status } = yield* makeBrowser().post(replica, path, body)
        assert.strictEqual(status, 400, path)
        assert.strictEqual(json.issues[0].message, message, path)
      }
      const body = { email, password, oauth_query: request(64) }
      assert.notInclude((yield* makeBrowser().post(replica, "/sign-in/email", body)).text, "parameters")
    })
  )

  it.effect("R6: a refusal names the field that it is about", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const { browser, email } = yield* aPerson(replica)
      const fresh = { email: yield* makeEmail, password, name: "n" }
      for (const [path, body, field] of [
        ["/sign-up/email", { ...fresh, email: "nobody" }, "email"],
        ["/sign-up/email", { ...fresh, email }, "email"],
        ["/sign-up/email", { ...fresh, email: `${"a".repeat(60)}@${"b.".repeat(150)}example.com` }, "email"],
        ["/sign-up/email", { ...fresh, password: "short" }, "password"],
        ["/sign-up/email", { ...fresh, password: "x".repeat(129) }, "password"],
        ["/sign-up/email", { ...fresh, password: undefined }, "password"],
        ["/sign-in/email", { email: "nobody", password }, "email"],
        ["/request-password-reset", { email: "nobody" }, "email"],
        ["/send-verification-email", { email: "nobody" }, "email"],
        ["/reset-password", { token: "unknown", newPassword: "another horse" }, "token"],
        ["/change-password", { currentPassword: "wrong horse", newPassword: "another horse" }, "currentPassword"],
        ["/change-password", { currentPassword: password, newPassword: "short" }, "newPassword"]
      ] as const) {
        const { json, status } = yield* browser.post(replica, path, body)
        assert.deepStrictEqual(
          [status, json.issues?.[0].field],
          [400, field],
          `${path} ${JSON.stringify(body).slice(0, 80)}`
        )
        // Their attempts would be counted together.
        browser.client = makeBrowser().client
      }
    })
  )

  it.effect("a field of any type, on every route, never causes a 500", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica({
        baseUrl: "https://quarry.test",
        github: providerClient,
        google: providerClient
      })
      const { browser } = yield* aPerson(replica)
      const value = fc.oneof(fc.jsonValue(), fc.constantFrom<unknown>([1], {}, "", "\0", "x".repeat(21_000), -0, null))
      const names = fc.constantFrom(...fieldNames)
      const samples = fc.sample(
        fc.tuple(
          fc.constantFrom(...postRoutes, ...getRoutes.map((path) => `GET ${path}`)),
          fc.oneof(fc.dictionary(names, value, { maxKeys: 8 }), value),
          fc.boolean()
        ),
        400
      )
      const fixed = postRoutes.flatMap((path) => [
        [path, { oauth_query: [1] }, true],
        [path, Object.fromEntries(fieldNames.map((name) => [name, { a: 1 }])), true],
        [path, Object.fromEntries(fieldNames.map((name) => [name, "a\0b"])), true]
      ]) as typeof samples
      for (const [path, body, signedIn] of [...fixed, ...samples]) {
        const visitor = signedIn ? browser : makeBrowser()
        visitor.client = makeBrowser().client
        const answer = yield* Effect.exit(
          path.startsWith("GET ")
            ? visitor.get(replica, `${path.slice(4)}?${queryOf(body)}`)
            : visitor.post(replica, path, body)
        )
        if (answer._tag === "Failure") assert.fail(`${path} ${JSON.stringify(body).slice(0, 500)} ${answer.cause}`)
        assert.isBelow(answer.value.status, 500)
        if (
          JSON.stringify(body) === '{"oauth_query":[1]}' &&
          !/^.(?:oauth2.(?:token|revoke|register)|sign-out|revoke|two-factor.(?:enable|disable|generate))/.test(path)
        ) {
          assert.strictEqual(answer.value.status, 400, path)
        }
      }
    })
  )

  it.effect("one of the most common passwords is refused, for everyone and on every route", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const { browser, email } = yield* aPerson(replica)
      yield* replica.nextLink
      yield* browser.post(replica, "/request-password-reset", { email })
      const { token } = yield* replica.nextLink
      for (const common of ["12345678", "Password1", "qwertyuiop", "sunshine"]) {
        for (const [path, body] of [
          ["/sign-up/email", { email: yield* makeEmail, name: "n", password: common }],
          ["/change-password", { currentPassword: password, newPassword: common }],
          ["/reset-password", { token, newPassword: common }]
        ] as const) {
          browser.client = makeBrowser().client
          const { json, status } = yield* browser.post(replica, path, body)
          const [issue] = json.issues
          assert.deepStrictEqual([status, issue.field], [400, path === "/sign-up/email" ? "password" : "newPassword"])
          assert.include(issue.message, "common")
        }
      }
      assert.strictEqual(
        (yield* browser.post(replica, "/reset-password", { token, newPassword: "another horse" })).status,
        200
      )
    })
  )

  it.effect("the database holds no live token and no password", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const { browser, email } = yield* aPerson(replica)
      const confirmation = yield* replica.nextLink
      yield* makeBrowser().post(replica, "/request-password-reset", { email })
      const reset = yield* replica.nextLink
      const cookie = decodeURIComponent(browser.cookies.get(replica.sessions.cookieName) ?? "")
      const dump = yield* dumpOf
      assert.include(dump, email)
      for (const secret of [...cookie.split("."), confirmation.token, reset.token, password]) {
        assert.isAbove(secret.length, 16)
        assert.notInclude(dump, secret)
      }
    })
  )

  it.effect("no body of a route for people has a token or a digest, whether it signs somebody in or not", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const replica = yield* makeReplica({ baseUrl: "https://quarry.test", github: providerClient })
      const browser = makeBrowser()
      const email = yield* makeEmail
      const secrets = new Set<string>()
      const keys = new Set<string>()
      const noteKeys = (value: unknown): void => {
        if (typeof value !== "object" || value === null) return
        for (const [key, field] of Object.entries(value)) {
          keys.add(key)
          noteKeys(field)
        }
      }
      const answers: Array<readonly [path: string, text: string]> = []
      const ask = Effect.fnUntraced(function* (path: string, body?: object) {
        browser.client = makeBrowser().client
        const answer = yield* body === undefined ? browser.get(replica, path) : browser.post(replica, path, body)
        assert.strictEqual(answer.status, 200, path)
        answers.push([path, answer.text])
        noteKeys(answer.json)
        for (const line of answer.headers.getSetCookie()) {
          const value = decodeURIComponent(/=([^;]*)/.exec(line)?.[1] ?? "")
          for (const part of value.split(".")) if (part.length > 16) secrets.add(part)
        }
        const rows = yield* sql<{ digest: string }>`
          select digest from auth_sessions union select digest from auth_verifications`
        for (const { digest } of rows) secrets.add(digest)
        return answer
      })
      const signUp = yield* ask("/sign-up/email", { email, password, name: "n" })
      assert.deepInclude(signUp.json, { signed_in: true })
      assert.strictEqual(signUp.json.user.email, email)
      const signIn = yield* ask("/sign-in/email", { email, password, callbackURL: "/dashboard" })
      assert.deepInclude(signIn.json, { redirect: true, url: "/dashboard" })
      const shown = yield* ask("/get-session")
      assert.deepInclude(shown.json.user, { email, name: "n" })
      assert.hasAllKeys(shown.json.session, ["id", "createdAt", "updatedAt", "expiresAt", "ipAddress", "userAgent"])
      yield* ask("/send-verification-email", { email })
      yield* ask("/change-password", { currentPassword: password, newPassword: "another horse" })
      yield* ask("/request-password-reset", { email })
      yield* ask("/sign-in/social", { provider: "github" })
      let token = ""
      for (const _ of answers.filter(([path]) => /verification|reset|sign-up/.test(path))) {
        token = (yield* replica.nextLink).token
        secrets.add(token)
      }
      yield* ask("/reset-password", { token, newPassword: password })
      yield* ask("/sign-in/email", { email, password })
      yield* ask("/revoke-sessions", {})
      yield* ask("/sign-in/email", { email, password })
      yield* ask("/sign-out", {})
      assert.isAbove(secrets.size, 10)
      for (const [path, text] of answers) for (const secret of secrets) assert.notInclude(text, secret, path)
      assert.doesNotHaveAnyKeys(Object.fromEntries([...keys].map((key) => [key, 1])), ["token", "password", "digest"])
    })
  )

  it.effect("the log holds no token, no password and no cookie", () =>
    Effect.gen(function* () {
      const lines = yield* Ref.make<ReadonlyArray<string>>([])
      const logger = Logger.make((entry) => {
        Effect.runSync(Ref.update(lines, (all) => [...all, Logger.formatJson.log(entry)]))
      })
      yield* Effect.gen(function* () {
        const replica = yield* makeReplica()
        const { browser, email } = yield* aPerson(replica)
        const cookie = decodeURIComponent(browser.cookies.get(replica.sessions.cookieName) ?? "")
        const confirmation = yield* replica.nextLink
        yield* makeBrowser().signIn(replica, email, "wrong horse battery staple")
        yield* makeBrowser().signUp(replica, email)
        yield* makeBrowser().post(replica, "/request-password-reset", { email })
        const reset = yield* replica.nextLink
        const newPassword = "another horse"
        yield* makeBrowser().post(replica, "/reset-password", { token: `${confirmation.token}x`, newPassword })
        yield* makeBrowser().post(replica, "/reset-password", { token: reset.token, newPassword: "another horse" })
        yield* browser.post(replica, "/sign-out", undefined, { origin: "https://evil.example" })
        const log = (yield* Ref.get(lines)).join("\n")
        assert.include(log, "Invalid password")
        for (const secret of [...cookie.split("."), confirmation.token, reset.token, password, "another horse"]) {
          assert.notInclude(log, secret)
        }
      }).pipe(Effect.provide(Logger.layer([logger])))
    })
  )

  it.effect("names without NULs and user agents are cut to size, overlong addresses refused", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const browser = makeBrowser()
      const body = {
        email: yield* makeEmail,
        password,
        name: `\0${"n".repeat(5000)}`,
        image: "https://evil.example/pixel"
      }
      const { json } = yield* browser.post(replica, "/sign-up/email", body, { "user-agent": "u".repeat(5000) })
      assert.strictEqual(json.user.name, "n".repeat(100))
      assert.notInclude(yield* dumpOf, "evil.example")
      const { session } = (yield* browser.get(replica, "/get-session")).json
      assert.strictEqual(session.userAgent, "u".repeat(256))
      const long = yield* makeBrowser().signUp(replica, `${"a".repeat(60)}@${"b.".repeat(120)}example.com`)
      assert.strictEqual(long.status, 400)
    })
  )

  it.effect("a failed database is not a successful sign-out", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const { browser } = yield* aPerson(replica)
      const sql = yield* SqlClient.SqlClient
      yield* sql`alter table auth_sessions rename to auth_sessions_away`
      const exit = yield* Effect.exit(browser.post(replica, "/sign-out"))
      yield* sql`alter table auth_sessions_away rename to auth_sessions`
      assert.strictEqual(exit._tag, "Failure")
      yield* browser.whoAmI(replica)
    })
  )
}

/** Another text for the same bytes: the last two bits of a SHA-256 in base64 are not looked at. */
const respelt = (signature: string): string => {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  const last = alphabet.indexOf(signature.at(-2) ?? "")
  return `${signature.slice(0, -2)}${alphabet[last ^ 1]}=`
}

const makeBrowserWith = (cookies: ReadonlyMap<string, string>) => {
  const browser = makeBrowser()
  for (const [name, value] of cookies) browser.cookies.set(name, value)
  return browser
}

const getRoutes = [
  "/get-session",
  "/error",
  "/callback/github",
  "/callback/google",
  "/oauth2/authorize",
  "/passkey/generate-register-options",
  "/passkey/generate-authenticate-options",
  "/passkey/list-user-passkeys"
]

/** What the library reads on any route. */
const fieldNames = [
  ..."email password name image callbackURL rememberMe provider errorCallbackURL newUserCallbackURL disableRedirect".split(
    " "
  ),
  ..."idToken scopes requestSignUp loginHint additionalData additionalParams currentPassword newPassword".split(" "),
  ..."revokeOtherSessions redirectTo token oauth_query accept client_id scope grant_type code code_verifier".split(" "),
  ..."refresh_token redirect_uri redirect_uris client_name client_secret resource token_type_hint state prompt".split(
    " "
  ),
  ..."response_type code_challenge code_challenge_method error error_description disableCookieCache request response id trustDevice".split(
    " "
  )
]

/** Fields as a query, those of a list repeated. */
const queryOf = (body: unknown): URLSearchParams =>
  new URLSearchParams(
    Object.entries(body ?? {}).flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value, value]).map((one): [string, string] => [
        name,
        (typeof one === "string" ? one : String(JSON.stringify(one))).slice(0, 2000)
      ])
    )
  )

/** What the library would answer, and ways to spell what is offered differently. */
const unoffered = [
  "ok",
  "update-user",
  "update-session",
  "change-email",
  "set-password",
  "delete-user",
  "delete-user/callback",
  "verify-password",
  "verify-email",
  "list-sessions",
  "revoke-session",
  "revoke-other-sessions",
  "link-social",
  "unlink-account",
  "list-accounts",
  "account-info",
  "refresh-token",
  "get-access-token",
  "sign-in/social",
  "callback/google",
  "callback/github",
  "reset-password/0123456789abcdefghijklmn",
  "sign-in/username",
  "admin/list-users",
  "get-session/",
  "sign-in//email",
  "Sign-In/Email",
  "sign-in%2Femail",
  "get-session/../update-user",
  "get-session/%2e%2e/update-user",
  ""
].map((path) => `/api/auth/${path}`)
