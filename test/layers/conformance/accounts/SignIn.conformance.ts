import { assert, type Vitest } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import type { StoreClock } from "../../../../src/services/StoreClock.ts"
import * as Apps from "../../../support/accounts/Apps.ts"
import { liftShortLimits, makeBrowser, makeReplica, password, type Replica } from "../../../support/accounts/SignIn.ts"
import { makeEmail } from "../../../support/api/searches.ts"

type Services = Accounts | Ids | SqlClient.SqlClient | StoreClock

const makeSite = (options = {}) => makeReplica({ baseUrl: "https://quarry.test", ...options })

/** An app that sent a browser without a session here, with the query of the sign-in page. */
const anAuthorizationRequest = Effect.fnUntraced(function* (replica: Replica, changes: Record<string, string> = {}) {
  const app = yield* Apps.makeApp(replica)
  const { challenge } = Apps.makeProof()
  const location = yield* Apps.authorize(
    replica,
    makeBrowser(),
    Apps.authorizationQuery(replica, app, challenge, changes)
  )
  assert.match(location, /^\/oauth\/sign-in\?/)
  return { app, query: new URLSearchParams(location.slice(location.indexOf("?") + 1)).toString() }
})

const entryOf = (email: string, query: string, word = password) => ({
  email,
  password: Redacted.make(word),
  authorizationRequest: query,
  returnPath: `/oauth/sign-in?${query}`
})

/** What the pages of sign-in are promised, over any database. */
export const signInConformance = (it: Vitest.MethodsNonLive<Services>): void => {
  it.effect("a person signs up, in another browser signs in, and allows the app that waits", () =>
    Effect.gen(function* () {
      const replica = yield* makeSite()
      const { authorizationRequests, signIn } = replica
      const email = yield* makeEmail
      const [first, second] = [makeBrowser(), makeBrowser()]
      const { app, query } = yield* anAuthorizationRequest(replica)
      assert.deepStrictEqual(yield* authorizationRequests.describe(first.toBrowser(), query), {
        appName: "An App",
        appId: app,
        scopes: ["search", "read"],
        redirectUri: Apps.callback
      })

      const signUp = yield* signIn.signUp(first.toBrowser(), entryOf(email, query))
      assert.match(signUp?.location ?? "", /^\/oauth\/consent\?/)
      first.keep(signUp?.cookies ?? [])
      assert.strictEqual((yield* first.whoAmI(replica)).account.email, email)
      const entered = yield* signIn.withPassword(second.toBrowser(), entryOf(email, query))
      second.keep(entered.cookies)
      assert.strictEqual((yield* second.whoAmI(replica)).account.email, email)

      const consent = entered.location.slice(entered.location.indexOf("?") + 1)
      const nobody = yield* Effect.flip(authorizationRequests.decide(makeBrowser().toBrowser(), consent, "allow"))
      assert.strictEqual(nobody._tag, "unauthorized")
      const { location } = yield* authorizationRequests.decide(second.toBrowser(), consent, "allow")
      assert.isTrue(location.startsWith(`${Apps.callback}?code=`), location)
      const denial = yield* authorizationRequests.decide(second.toBrowser(), consent, "deny").pipe(Effect.result)
      if (denial._tag === "Success") assert.include(denial.success.location, "error=access_denied")
    })
  )

  it.effect("without an app, a sign-up and a sign-in lead to the page that the person wanted", () =>
    Effect.gen(function* () {
      const replica = yield* makeSite()
      const returnPath = "/dashboard/log?target=page"
      const entry = { ...entryOf(yield* makeEmail, ""), authorizationRequest: undefined, returnPath }
      for (const enter of [replica.signIn.signUp, replica.signIn.withPassword]) {
        const browser = makeBrowser()
        const redirect = yield* enter(browser.toBrowser(), entry)
        assert.strictEqual(redirect?.location, returnPath)
        browser.keep(redirect?.cookies ?? [])
        assert.strictEqual((yield* browser.whoAmI(replica)).account.email, entry.email)
      }
    })
  )

  it.effect("a request that is forged, expired or of another deployment, and an unknown app, are told apart", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const replica = yield* makeSite()
      const { app, query } = yield* anAuthorizationRequest(replica)
      const describe = (text: string, at = replica) =>
        Effect.map(Effect.flip(at.authorizationRequests.describe(makeBrowser().toBrowser(), text)), ({ _tag }) => _tag)
      for (const text of ["", "nonsense", query.replace("33418", "33419"), query.replace(/exp=\d+/, "exp=1")]) {
        assert.strictEqual(yield* describe(text), "AuthorizationRequestExpired", text)
      }
      const stranger = yield* makeSite({ secret: "another secret of at least thirty-two characters" })
      assert.strictEqual(yield* describe(query, stranger), "AuthorizationRequestExpired")
      yield* sql`delete from auth_apps where client_id = ${app}`
      assert.strictEqual(yield* describe(query), "UnknownApp")
    })
  )

  it.effect("any state that an app sends is carried through a sign-in", () =>
    Effect.gen(function* () {
      const replica = yield* makeSite()
      const email = yield* makeEmail
      yield* makeBrowser().signUp(replica, email)
      for (const state of ["a*b", "~!'()", "a b+c%20", "\u{1f600}", '{"a":[1]}']) {
        const { query } = yield* anAuthorizationRequest(replica, { state })
        const browser = makeBrowser()
        const { location } = yield* replica.signIn.withPassword(browser.toBrowser(), entryOf(email, query))
        assert.strictEqual(new URL(location, replica.baseUrl).searchParams.get("state"), state)
        const other = makeBrowser().toBrowser()
        yield* replica.signIn.requestPasswordReset(other, {
          email: yield* makeEmail,
          returnPath: `/oauth/sign-in?${query}`
        })
      }
    })
  )

  it.effect("each failure has its type: credentials, fields, and an address that is confirmed first", () =>
    Effect.gen(function* () {
      const replica = yield* makeSite()
      const { query } = yield* anAuthorizationRequest(replica)
      const email = yield* makeEmail
      yield* makeBrowser().signUp(replica, email)
      const browser = () => makeBrowser().toBrowser()
      const wrong = yield* Effect.flip(replica.signIn.withPassword(browser(), entryOf(email, query, "wrong horse")))
      assert.strictEqual(wrong._tag, "InvalidCredentials")
      for (const [entry, field] of [
        [entryOf(email, query), "email"],
        [entryOf("nobody", query), "email"],
        [entryOf(yield* makeEmail, query, "short"), "password"],
        [entryOf(yield* makeEmail, query, "12345678"), "password"]
      ] as const) {
        const error = yield* Effect.flip(replica.signIn.signUp(browser(), entry))
        assert.deepInclude(error, { _tag: "InvalidField", field })
      }
      const token = Redacted.make("unknown")
      const reset = { token, password: Redacted.make(password), returnPath: "/dashboard" }
      const over = yield* Effect.flip(replica.signIn.resetPassword(browser(), reset))
      assert.deepInclude(over, { _tag: "InvalidField", field: "token" })
      const paths = { returnPath: "/", failurePath: "/oauth/error" }
      const away = yield* Effect.flip(replica.signIn.atProvider(browser(), "github", paths))
      assert.strictEqual(away._tag, "SignInFailed")

      const strict = yield* makeSite({ delivers: true })
      const newcomer = yield* makeEmail
      assert.isUndefined(yield* strict.signIn.signUp(browser(), entryOf(newcomer, query)))
      const { link } = yield* strict.nextLink
      assert.strictEqual(new URL(link).searchParams.get("callbackURL"), `/oauth/sign-in?${query}`)
      const early = yield* Effect.flip(strict.signIn.withPassword(browser(), entryOf(newcomer, query)))
      assert.strictEqual(early._tag, "AddressUnconfirmed")
    })
  )

  it.effect("R66: a client's wait is ended by the link that its page requests, which leads back to the app", () =>
    Effect.gen(function* () {
      const replica = yield* makeSite()
      const { query } = yield* anAuthorizationRequest(replica)
      const email = yield* makeEmail
      yield* makeBrowser().signUp(replica, email)
      yield* replica.nextLink
      const browser = makeBrowser().toBrowser()
      const enter = (word: string) =>
        Effect.andThen(liftShortLimits, replica.signIn.withPassword(browser, entryOf(email, query, word)))
      for (let n = 0; n < 10; n++) {
        assert.strictEqual((yield* Effect.flip(enter(`guess number ${n}`)))._tag, "InvalidCredentials")
      }
      const locked = yield* Effect.flip(enter(password))
      if (locked._tag !== "TooManyAttempts") return assert.fail(locked._tag)
      assert.isTrue(locked.retryAfterSeconds > 600 && locked.retryAfterSeconds <= 900)
      // The email about the wrong passwords.
      assert.include((yield* replica.nextLink).link, "/dashboard/account")

      const returnPath = `/oauth/sign-in?${query}`
      for (const address of [email, yield* makeEmail]) {
        yield* replica.signIn.requestPasswordReset(browser, { email: address, returnPath })
      }
      const { link, token } = yield* replica.nextLink
      const url = new URL(link)
      assert.deepStrictEqual([url.pathname, url.searchParams.get("callbackURL")], ["/oauth/confirm", returnPath])
      assert.strictEqual(yield* replica.waiting, 0)
      const reset = { token: Redacted.make(token), password: Redacted.make("another horse"), returnPath }
      assert.strictEqual(yield* replica.signIn.addressOfLink(reset.token), email)
      yield* liftShortLimits
      const entered = yield* replica.signIn.resetPassword(browser, reset)
      assert.match(entered.location, /^\/oauth\/consent\?/)
      assert.isTrue(
        entered.cookies.some((cookie) => /^(?:__Secure-)?quarry\.session_token=/.test(Redacted.value(cookie)))
      )
      assert.isUndefined(yield* replica.signIn.addressOfLink(reset.token))
      assert.match((yield* enter("another horse")).location, /^\/oauth\/consent\?/)
      const again = yield* Effect.flip(replica.signIn.resetPassword(browser, reset))
      assert.deepInclude(again, { _tag: "InvalidField", field: "token" })
    })
  )

  it.effect("R85: using a link that sets a password ends the person's other links", () =>
    Effect.gen(function* () {
      const replica = yield* makeSite()
      const email = yield* makeEmail
      yield* makeBrowser().signUp(replica, email)
      yield* replica.nextLink
      const browser = makeBrowser().toBrowser()
      const returnPath = "/dashboard"
      const request = Effect.andThen(
        replica.signIn.requestPasswordReset(browser, { email, returnPath }),
        Effect.map(replica.nextLink, ({ token }) => Redacted.make(token))
      )
      const [first, second] = [yield* request, yield* request]
      assert.strictEqual(yield* replica.signIn.addressOfLink(first), email)
      yield* liftShortLimits
      const set = (token: Redacted.Redacted) =>
        replica.signIn.resetPassword(browser, { token, password: Redacted.make("another horse"), returnPath })
      yield* set(second)
      assert.isUndefined(yield* replica.signIn.addressOfLink(first))
      assert.deepInclude(yield* Effect.flip(set(first)), { _tag: "InvalidField", field: "token" })
    })
  )

  it.effect("R65: a sign-up that the operator does not admit has its type and its message", () =>
    Effect.gen(function* () {
      const replica = yield* makeSite({ signUp: { mode: "closed", domains: [] } })
      const { query } = yield* anAuthorizationRequest(replica)
      assert.strictEqual(replica.signIn.signUpMode, "closed")
      const browser = makeBrowser().toBrowser()
      const denied = yield* Effect.flip(replica.signIn.signUp(browser, entryOf(yield* makeEmail, query)))
      assert.strictEqual(denied._tag, "SignUpDenied")
      if (denied._tag === "SignUpDenied") assert.include(denied.message, "operator")
    })
  )

  it.effect("requests of one client are counted, and say when to come back", () =>
    Effect.gen(function* () {
      const replica = yield* makeSite()
      const { query } = yield* anAuthorizationRequest(replica)
      const guesser = makeBrowser().toBrowser()
      const tags: Array<string> = []
      for (let n = 0; n < 4; n++) {
        const error = yield* Effect.flip(replica.signIn.withPassword(guesser, entryOf(yield* makeEmail, query)))
        tags.push(error._tag)
        if (error._tag === "TooManyAttempts") assert.isAtLeast(error.retryAfterSeconds, 1)
      }
      assert.deepStrictEqual(tags, [...Array(3).fill("InvalidCredentials"), "TooManyAttempts"])
    })
  )
}
