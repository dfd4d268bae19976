import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { SingleSignOn } from "../../../src/layers/auth/betterAuth/Options.ts"
import * as MembersBetterAuth from "../../../src/layers/auth/MembersBetterAuth.ts"
import { Accounts } from "../../../src/services/accounts/Accounts.ts"
import { Members } from "../../../src/services/accounts/Members.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { singleKeyring } from "../../../src/services/operations/Keyrings.ts"
import {
  comeBackFromGitHub,
  dumpOf,
  liftShortLimits,
  makeBrowser,
  makeReplica,
  password,
  providerClient,
  type Replica,
  type ReplicaOptions
} from "../../support/accounts/SignIn.ts"
import { makeEmail } from "../../support/api/searches.ts"
import * as OidcProvider from "../../support/servers/OidcProvider.ts"
import * as EmbeddedDatabase from "../../support/stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"

const secret = "a secret of at least thirty-two characters for tests"

type Browser = ReturnType<typeof makeBrowser>

/** A provider of its own for each test, and replicas that use it. */
const setUp = Effect.gen(function* () {
  const provider = yield* OidcProvider.make
  provider.serve("http://quarry.test")
  const oidc: SingleSignOn = {
    ...OidcProvider.oidcClient,
    issuer: provider.issuer,
    name: "Example SSO",
    domains: [],
    isOnly: false
  }
  const replicaOf = (rule: Partial<SingleSignOn> = {}, options: ReplicaOptions = {}) =>
    makeReplica({ delivers: true, ...options, oidc: { ...oidc, ...rule } })

  let subjects = 0
  const aPerson = Effect.fnUntraced(function* (email?: string) {
    const subject = `subject ${++subjects}`
    const address = email ?? (yield* makeEmail)
    provider.people.set(subject, { email: address, email_verified: true })
    return { subject, email: address }
  })

  /** Returns where the browser is led to, and the error in it. */
  const enter = Effect.fnUntraced(function* (replica: Replica, browser: Browser, subject: string) {
    yield* liftShortLimits
    const body = { provider: "oidc", callbackURL: "/dashboard", errorCallbackURL: "/dashboard/sign-in?failed=oidc" }
    const { json } = yield* browser.post(replica, "/sign-in/social", body)
    const response = yield* provider.visit(json.url, subject)
    const answer = yield* browser.get(replica, response.href.slice(`${replica.baseUrl}/api/auth`.length))
    const location = new URL(answer.headers.get("location") ?? "", replica.baseUrl)
    return { location, error: location.searchParams.get("error") ?? undefined, response }
  })
  return { provider, oidc, replicaOf, aPerson, enter }
})

const isSignedIn = (browser: Browser, replica: Replica) =>
  Effect.map(Effect.result(browser.whoAmI(replica)), ({ _tag }) => _tag === "Success")

/** A person with a password, who has confirmed the address or not. */
const withPassword = Effect.fnUntraced(function* (replica: Replica, email: string, isConfirmed: boolean) {
  const browser = makeBrowser()
  yield* liftShortLimits
  assert.strictEqual((yield* browser.signUp(replica, email)).status, 200)
  const token = yield* replica.nextToken
  if (isConfirmed) {
    assert.strictEqual((yield* browser.post(replica, "/reset-password", { token, newPassword: password })).status, 200)
    assert.strictEqual((yield* browser.signIn(replica, email)).status, 200)
  }
  return { browser, token }
})

layer(SqlStorage.layer(EmbeddedDatabase.layer))("R66: single sign-on, at an independent provider", (it) => {
  it.effect("a person signs up and in with discovery, PKCE, nonce and `iss`, and gets the trial once", () =>
    Effect.gen(function* () {
      const { aPerson, enter, replicaOf } = yield* setUp
      const replica = yield* replicaOf()
      const { email, subject } = yield* aPerson()
      const browser = makeBrowser()
      const asked = new URL((yield* browser.post(replica, "/sign-in/social", { provider: "oidc" })).json.url)
      assert.strictEqual(asked.searchParams.get("redirect_uri"), `${replica.baseUrl}/api/auth/callback/oidc`)
      assert.strictEqual(asked.searchParams.get("code_challenge_method"), "S256")
      assert.match(asked.searchParams.get("nonce") ?? "", /^[\w-]{32}$/)
      const { location, response } = yield* enter(replica, browser, subject)
      assert.strictEqual(location.pathname, "/dashboard")
      assert.isTrue(response.searchParams.has("iss"))
      const { account } = yield* browser.whoAmI(replica)
      assert.deepInclude(account, { email, plan: "trial" })
      assert.strictEqual((yield* (yield* Ledger).allowance(account)).quota, 100)
      const again = makeBrowser()
      yield* enter(yield* replicaOf(), again, subject)
      assert.strictEqual((yield* again.whoAmI(replica)).account.id, account.id)
      const dump = yield* dumpOf
      for (const text of [response.searchParams.get("code") ?? "", asked.searchParams.get("state") ?? ""]) {
        assert.notInclude(dump, text)
      }
    })
  )

  it.effect("a person with a password and that confirmed address is let in, and an unconfirmed one is not", () =>
    Effect.gen(function* () {
      const { aPerson, enter, replicaOf } = yield* setUp
      const replica = yield* replicaOf()
      const known = yield* aPerson()
      const owner = yield* withPassword(replica, known.email, true)
      const browser = makeBrowser()
      yield* enter(replica, browser, known.subject)
      const { personId } = yield* browser.whoAmI(replica)
      assert.strictEqual((yield* owner.browser.whoAmI(replica)).personId, personId)
      assert.strictEqual((yield* makeBrowser().signIn(replica, known.email)).status, 200)
      const squatted = yield* aPerson()
      yield* withPassword(replica, squatted.email, false)
      const refused = makeBrowser()
      assert.strictEqual((yield* enter(replica, refused, squatted.subject)).error, "account_not_linked")
      assert.isFalse(yield* isSignedIn(refused, replica))
    })
  )

  it.effect("a changed address stays the same person, and another subject with a known address is refused", () =>
    Effect.gen(function* () {
      const { aPerson, enter, provider, replicaOf } = yield* setUp
      const replica = yield* replicaOf()
      const { email, subject } = yield* aPerson()
      const browser = makeBrowser()
      yield* enter(replica, browser, subject)
      const { account, personId } = yield* browser.whoAmI(replica)
      provider.people.set(subject, { email: yield* makeEmail, email_verified: false })
      const later = makeBrowser()
      yield* enter(replica, later, subject)
      assert.deepInclude(yield* later.whoAmI(replica), { personId, account })
      const heir = yield* aPerson(email)
      const refused = makeBrowser()
      assert.strictEqual((yield* enter(replica, refused, heir.subject)).error, "unable_to_link_account")
      assert.isFalse(yield* isSignedIn(refused, replica))
    })
  )

  it.effect("subjects of another issuer are other people", () =>
    Effect.gen(function* () {
      const first = yield* setUp
      const { subject } = yield* first.aPerson()
      const browser = makeBrowser()
      const replica = yield* first.replicaOf()
      yield* first.enter(replica, browser, subject)
      const second = yield* setUp
      second.provider.people.set(subject, { email: yield* makeEmail, email_verified: true })
      const other = makeBrowser()
      yield* second.enter(yield* second.replicaOf(), other, subject)
      assert.notStrictEqual((yield* other.whoAmI(replica)).personId, (yield* browser.whoAmI(replica)).personId)
    })
  )

  it.effect("OIDC_DOMAINS: passwords and other providers are refused alike for known and unknown addresses", () =>
    Effect.gen(function* () {
      const { aPerson, enter, replicaOf } = yield* setUp
      const before = yield* replicaOf({}, { github: providerClient })
      const known = yield* aPerson(`known-${(yield* makeEmail).split("@")[0]}@corp.example`)
      const { browser } = yield* withPassword(before, known.email, true)
      const octocat = { id: `github ${known.email}`, email: known.email, verified: true }
      yield* comeBackFromGitHub(before, makeBrowser(), octocat)
      yield* browser.post(before, "/request-password-reset", { email: known.email })
      const { token } = yield* before.nextLink
      const replica = yield* replicaOf({ domains: ["corp.example"] }, { github: providerClient })
      const bodies = (email: string) =>
        [
          ["/sign-in/email", { email, password }],
          ["/sign-up/email", { email, password, name: "A Person" }],
          ["/request-password-reset", { email }],
          ["/send-verification-email", { email }]
        ] as const
      const answers = (email: string) =>
        Effect.forEach(bodies(email), ([path, body]) =>
          Effect.andThen(
            liftShortLimits,
            Effect.map(makeBrowser().post(replica, path, body), ({ json, status }) => ({ status, json }))
          )
        )
      const refused = {
        status: 403,
        json: { code: "SINGLE_SIGN_ON_REQUIRED", message: "People with this address sign in with Example SSO." }
      }
      const unknown = `nobody-${known.email}`
      assert.deepStrictEqual(yield* answers(known.email.toUpperCase()), [refused, refused, refused, refused])
      assert.deepStrictEqual(yield* answers(unknown), yield* answers(known.email))
      const reset = yield* makeBrowser().post(replica, "/reset-password", { token, newPassword: password })
      assert.deepStrictEqual([reset.status, reset.json], [403, refused.json])
      const change = { currentPassword: password, newPassword: "another long password" }
      assert.strictEqual((yield* browser.post(replica, "/change-password", change)).status, 403)
      assert.strictEqual(yield* replica.waiting, 0)
      const atGitHub = makeBrowser()
      const { headers } = yield* comeBackFromGitHub(replica, atGitHub, { email: unknown, verified: true })
      assert.include(headers.get("location"), "error=SINGLE_SIGN_ON_REQUIRED")
      const moved = { ...octocat, email: yield* makeEmail }
      const linked = yield* comeBackFromGitHub(replica, atGitHub, moved)
      assert.include(linked.headers.get("location"), "error=SINGLE_SIGN_ON_REQUIRED")
      assert.isFalse(yield* isSignedIn(atGitHub, replica))
      assert.notInclude(yield* dumpOf, unknown)
      const elsewhere = yield* makeEmail
      assert.strictEqual((yield* makeBrowser().signUp(replica, elsewhere)).status, 200)
      const inside = makeBrowser()
      yield* enter(replica, inside, known.subject)
      assert.strictEqual((yield* inside.whoAmI(replica)).account.email, known.email)
    })
  )

  it.effect("OIDC_DOMAINS: nothing remains of someone who signed up with such an address before", () =>
    Effect.gen(function* () {
      const { aPerson, enter, replicaOf } = yield* setUp
      const before = yield* replicaOf({}, { delivers: false })
      const { email, subject } = yield* aPerson(`squatted-${(yield* makeEmail).split("@")[0]}@corp.example`)
      const squatter = makeBrowser()
      assert.strictEqual((yield* squatter.signUp(before, email)).status, 200)
      assert.isTrue(yield* isSignedIn(squatter, before))
      const replica = yield* replicaOf({ domains: ["corp.example"] })
      const owner = makeBrowser()
      yield* enter(replica, owner, subject)
      assert.strictEqual((yield* owner.whoAmI(replica)).account.email, email)
      assert.isFalse(yield* isSignedIn(squatter, replica))
      yield* liftShortLimits
      assert.strictEqual((yield* squatter.signIn(before, email)).status, 401)
    })
  )

  it.effect("OIDC_ONLY: there are no passwords at all, and links that set one do nothing", () =>
    Effect.gen(function* () {
      const { aPerson, enter, replicaOf } = yield* setUp
      const before = yield* replicaOf()
      const { email, subject } = yield* aPerson()
      const { browser } = yield* withPassword(before, email, true)
      yield* browser.post(before, "/request-password-reset", { email })
      const { token } = yield* before.nextLink
      const replica = yield* replicaOf({ isOnly: true })
      assert.isFalse(replica.signIn.hasPasswords)
      for (const [path, body] of [
        ["/sign-in/email", { email, password }],
        ["/sign-up/email", { email: yield* makeEmail, password, name: "A Person" }],
        ["/request-password-reset", { email }],
        ["/send-verification-email", { email }],
        ["/reset-password", { token, newPassword: password }],
        ["/change-password", { currentPassword: password, newPassword: "another long password" }]
      ] as const) {
        yield* liftShortLimits
        const { json, status } = yield* browser.post(replica, path, body)
        assert.deepStrictEqual([status, json.code], [403, "SINGLE_SIGN_ON_REQUIRED"], path)
      }
      assert.strictEqual(yield* replica.waiting, 0)
      const inside = makeBrowser()
      yield* enter(replica, inside, subject)
      assert.strictEqual((yield* inside.whoAmI(replica)).account.email, email)
    })
  )

  it.effect("R65: SIGN_UP, its domains and its limit apply, and a refused sign-up leaves nothing", () =>
    Effect.gen(function* () {
      const { aPerson, enter, replicaOf } = yield* setUp
      const { email, subject } = yield* aPerson()
      const errorOf = Effect.fnUntraced(function* (signUp: ReplicaOptions["signUp"] & {}, browser = makeBrowser()) {
        const { error } = yield* enter(yield* replicaOf({}, { signUp }), browser, subject)
        return error
      })
      assert.strictEqual(yield* errorOf({ mode: "closed", domains: [] }), "SIGN_UP_REFUSED")
      assert.strictEqual(yield* errorOf({ mode: "invite", domains: [] }), "SIGN_UP_REFUSED")
      assert.strictEqual(yield* errorOf({ mode: "open", domains: ["corp.example"] }), "SIGN_UP_REFUSED")
      const network = "100.65.1.1"
      const open = yield* replicaOf()
      yield* Effect.forEach(Array.from({ length: 20 }), () =>
        Effect.flatMap(Effect.andThen(liftShortLimits, makeEmail), (other) => makeBrowser(network).signUp(open, other))
      )
      assert.strictEqual(yield* errorOf({ mode: "open", domains: [] }, makeBrowser(network)), "SIGN_UP_LIMITED")
      assert.notInclude(yield* dumpOf, email)
      yield* (yield* Accounts).create({ email, plan: "growth" })
      assert.isUndefined(yield* errorOf({ mode: "invite", domains: [] }))
      assert.isUndefined(yield* errorOf({ mode: "closed", domains: [] }))
    })
  )

  it.effect("R67: an invited person joins by the link, before the first sign-in or after it", () =>
    Effect.gen(function* () {
      const { aPerson, enter, oidc, replicaOf } = yield* setUp
      const replica = yield* replicaOf({ isOnly: true }, { signUp: { mode: "invite", domains: [] } })
      const context = yield* Layer.build(
        Layer.fresh(
          MembersBetterAuth.layer({
            baseUrl: replica.baseUrl,
            secrets: singleKeyring(Redacted.make(secret)),
            signUp: { mode: "invite", domains: [] },
            oidc: { ...oidc, isOnly: true }
          })
        )
      )
      const members = yield* Effect.provide(Members, context)
      const account = yield* (yield* Accounts).create({ email: yield* makeEmail, plan: "growth" })
      const invite = Effect.fnUntraced(function* (email: string) {
        const { link } = yield* members.invite(account, email, "developer")
        return Redacted.make(new URL(Redacted.value(link)).searchParams.get("token") ?? "")
      })
      const early = yield* aPerson()
      assert.deepStrictEqual(yield* members.join(yield* invite(early.email), undefined), { _tag: "signIn" })
      const browser = makeBrowser()
      yield* enter(replica, browser, early.subject)
      assert.deepInclude(yield* browser.whoAmI(replica), { account, role: "developer" })
      const late = yield* aPerson()
      const token = yield* invite(late.email)
      const other = makeBrowser()
      yield* enter(replica, other, late.subject)
      const { personId, sessionId } = yield* other.whoAmI(replica)
      assert.deepStrictEqual(yield* members.join(token, { id: sessionId, personId }), { _tag: "entered" })
      assert.strictEqual((yield* other.whoAmI(replica)).account.id, account.id)
    })
  )

  it.effect("the sign-in page of an app leads to the provider and back to the app's consent", () =>
    Effect.gen(function* () {
      const { aPerson, provider, replicaOf } = yield* setUp
      const replica = yield* replicaOf()
      const { subject } = yield* aPerson()
      assert.deepStrictEqual(
        replica.signIn.providers.map(({ id, name }) => [id, name]),
        [["oidc", "Example SSO"]]
      )
      const browser = makeBrowser()
      const paths = { returnPath: "/oauth/consent?client_id=app", failurePath: "/oauth/error" }
      const { cookies, location } = yield* replica.signIn.atProvider(browser.toBrowser(), "oidc", paths)
      browser.keep(cookies)
      const response = yield* provider.visit(location, subject)
      const answer = yield* browser.get(replica, response.href.slice(`${replica.baseUrl}/api/auth`.length))
      assert.strictEqual(answer.headers.get("location"), paths.returnPath)
      assert.isTrue(yield* isSignedIn(browser, replica))
    })
  )

  it.effect("an unreachable provider refuses its own sign-ins and nothing else", () =>
    Effect.gen(function* () {
      const { replicaOf } = yield* setUp
      const replica = yield* replicaOf({ issuer: "http://127.0.0.1:1" })
      const { json, status } = yield* makeBrowser().post(replica, "/sign-in/social", { provider: "oidc" })
      assert.deepStrictEqual([status, json.code], [424, "IDENTITY_PROVIDER_UNREACHABLE"])
      assert.strictEqual((yield* makeBrowser().signUp(replica, yield* makeEmail)).status, 200)
    })
  )

  it.effect("of two subjects that come with one address at once, one is let in", () =>
    Effect.gen(function* () {
      const { aPerson, enter, replicaOf } = yield* setUp
      const replica = yield* replicaOf()
      const one = yield* aPerson()
      const other = yield* aPerson(one.email)
      yield* withPassword(replica, one.email, true)
      const errors = yield* Effect.forEach([one, other], ({ subject }) => enter(replica, makeBrowser(), subject), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(errors.map(({ error }) => error).toSorted(), ["unable_to_link_account", undefined])
      const sql = yield* SqlClient.SqlClient
      assert.lengthOf(
        yield* sql`select from auth_identities i join auth_users u on u.id = i.user_id
          where u.email = ${one.email} and i.provider = 'oidc'`,
        1
      )
    })
  )
})
