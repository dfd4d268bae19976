import { assert, type Vitest } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as FactorRenewal from "../../../../src/layers/auth/FactorRenewal.ts"
import * as PeopleBetterAuth from "../../../../src/layers/auth/PeopleBetterAuth.ts"
import type { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { People } from "../../../../src/services/accounts/People.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import { singleKeyring } from "../../../../src/services/operations/Keyrings.ts"
import type { StoreClock } from "../../../../src/services/StoreClock.ts"
import * as Apps from "../../../support/accounts/Apps.ts"
import { rotatingKeyring } from "../../../support/accounts/rotatingKeyring.ts"
import {
  comeBackFromGitHub,
  dumpOf,
  liftShortLimits,
  makeBrowser,
  makeReplica,
  password,
  providerClient,
  type Replica
} from "../../../support/accounts/SignIn.ts"
import { codeOf } from "../../../support/accounts/totp.ts"
import { makeEmail } from "../../../support/api/searches.ts"

type Services = Accounts | Ids | SqlClient.SqlClient | StoreClock

type Browser = ReturnType<typeof makeBrowser>

const post = (replica: Replica, browser: Browser, path: string, body: object = {}) =>
  Effect.andThen(liftShortLimits, browser.post(replica, path, body))

const verify = (replica: Replica, browser: Browser, code: string) =>
  post(replica, browser, /^\d+$/.test(code) ? "/two-factor/verify-totp" : "/two-factor/verify-backup-code", { code })

/** A person with an authenticator app. The code of this half minute is used. */
const aPerson = Effect.fnUntraced(function* (replica: Replica) {
  const email = yield* makeEmail
  const browser = makeBrowser()
  assert.strictEqual((yield* browser.signUp(replica, email)).status, 200)
  const { json } = yield* post(replica, browser, "/two-factor/enable")
  const { backupCodes: codes, totpURI: uri }: { backupCodes: ReadonlyArray<string>; totpURI: string } = json
  assert.strictEqual((yield* verify(replica, browser, codeOf(uri))).status, 200)
  return { email, browser, codes, uri }
})

/** A browser that has given the right password and is asked for a code. It is signed in if it was before. */
const halfIn = Effect.fnUntraced(function* (replica: Replica, email: string, browser: Browser = makeBrowser()) {
  yield* liftShortLimits
  const wasSignedIn = yield* isSignedIn(browser, replica)
  const { json, status } = yield* browser.signIn(replica, email)
  assert.deepStrictEqual([status, json.twoFactorRedirect, json.user], [200, true, undefined])
  assert.strictEqual(new URL(json.url).pathname, "/oauth/second-factor")
  assert.strictEqual(yield* isSignedIn(browser, replica), wasSignedIn)
  return browser
})

const isSignedIn = (browser: Browser, replica: Replica) => Effect.isSuccess(browser.whoAmI(replica))

const forgetCodes = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`delete from auth_attempts`)

/** What second factors promise, over any database. */
export const secondFactorsConformance = (it: Vitest.MethodsNonLive<Services>): void => {
  codes(it)
  everyWayIn(it)
  enrollment(it)
  places(it)
  operators(it)
}

const codes = (it: Vitest.MethodsNonLive<Services>): void => {
  it.effect("R66: after the password, a code of the app is asked for, and it counts once on all replicas", () =>
    Effect.gen(function* () {
      const [replica, other] = [yield* makeReplica(), yield* makeReplica()]
      const { browser, email, uri } = yield* aPerson(replica)
      assert.isTrue(yield* isSignedIn(browser, replica))
      const [first, second] = [yield* halfIn(replica, email), yield* halfIn(other, email)]
      assert.strictEqual((yield* verify(replica, first, codeOf(uri))).status, 401, "the code that set up the app")
      const answers = yield* Effect.all(
        [verify(replica, first, codeOf(uri, 1)), verify(other, second, codeOf(uri, 1))],
        {
          concurrency: 2
        }
      )
      assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [200, 401])
      const signedIn = [yield* isSignedIn(first, replica), yield* isSignedIn(second, replica)]
      assert.strictEqual(signedIn.filter(Boolean).length, 1)
    })
  )

  it.effect("R66: wrong codes of both kinds are counted together, and five end the attempt", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const { codes, email, uri } = yield* aPerson(replica)
      const browser = yield* halfIn(replica, email)
      for (const code of ["000000", "wrong-words", "000001", "wrong-again", "000002"]) {
        assert.strictEqual((yield* verify(replica, browser, code)).status, 401)
      }
      assert.strictEqual((yield* verify(replica, browser, codes[0] ?? "")).status, 400)
      assert.strictEqual((yield* verify(replica, browser, codeOf(uri, 1))).status, 401)
      assert.isFalse(yield* isSignedIn(browser, replica))
    })
  )

  it.effect("R66: ten wrong codes stop unknown browsers for a while, and not one that has signed in before", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const { browser, email, uri } = yield* aPerson(replica)
      for (const attempt of [1, 2]) {
        const stranger = yield* halfIn(replica, email)
        for (const n of [1, 2, 3, 4, 5]) yield* verify(replica, stranger, `00000${attempt}${n}`)
      }
      const late = yield* verify(replica, yield* halfIn(replica, email), "000000")
      assert.strictEqual(late.status, 429)
      assert.isAbove(Number(late.headers.get("x-retry-after")), 60)
      yield* browser.post(replica, "/sign-out")
      yield* halfIn(replica, email, browser)
      assert.strictEqual((yield* verify(replica, browser, codeOf(uri, 1))).status, 200)
    })
  )

  it.effect("R66: a recovery code works once under 50 concurrent attempts", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const { codes, email } = yield* aPerson(replica)
      assert.strictEqual(new Set(codes).size, 10)
      const browsers = yield* Effect.forEach(Array.from({ length: 50 }), () => halfIn(replica, email))
      const answers = yield* Effect.forEach(
        browsers,
        (browser) => browser.post(replica, "/two-factor/verify-backup-code", { code: codes[0] }),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(
        answers.filter(({ status }) => status === 200),
        1
      )
      yield* forgetCodes
      assert.strictEqual((yield* verify(replica, yield* halfIn(replica, email), codes[0] ?? "")).status, 401)
      assert.strictEqual((yield* verify(replica, yield* halfIn(replica, email), codes[1] ?? "")).status, 200)
    })
  )

  it.effect("R66: neither the secret nor a recovery code is in the database", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const { codes, uri } = yield* aPerson(replica)
      const dump = yield* dumpOf
      for (const secret of [new URL(uri).searchParams.get("secret") ?? "", ...codes]) assert.notInclude(dump, secret)
    })
  )

  it.effect("R56: an app goes on through a rotation of AUTH_SECRET, and needs the new value alone after it", () =>
    Effect.gen(function* () {
      const secrets = rotatingKeyring()
      const replica = yield* makeReplica({ secrets })
      const { codes, email, uri } = yield* aPerson(replica)
      const waiting = yield* halfIn(replica, email)
      secrets.give()
      secrets.rotate()
      assert.strictEqual((yield* verify(replica, waiting, codes[0] ?? "")).status, 200)
      yield* FactorRenewal.renew(secrets)
      secrets.finish()
      const finished = yield* makeReplica({ secrets })
      assert.strictEqual((yield* verify(finished, yield* halfIn(finished, email), codes[1] ?? "")).status, 200)
      assert.strictEqual((yield* verify(finished, yield* halfIn(finished, email), codeOf(uri, 1))).status, 200)
    })
  )
}

const everyWayIn = (it: Vitest.MethodsNonLive<Services>): void => {
  it.effect("R66: GitHub, a new password and an app's request ask for the factor too", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica({ github: providerClient, delivers: true })
      const email = yield* makeEmail
      const owner = makeBrowser()
      yield* owner.signUp(replica, email)
      const reset = { token: Redacted.make(yield* replica.nextToken), password: Redacted.make(password) }
      const entered = yield* replica.signIn.resetPassword(owner.toBrowser(), { ...reset, returnPath: "/dashboard" })
      owner.keep(entered.cookies)
      const { json } = yield* post(replica, owner, "/two-factor/enable")
      yield* verify(replica, owner, codeOf(json.totpURI))

      const atGitHub = makeBrowser()
      const back = yield* comeBackFromGitHub(replica, atGitHub, { email, verified: true })
      assert.match(back.headers.get("location") ?? "", /\/oauth\/second-factor\?next=%2Fdashboard$/)
      assert.isFalse(yield* isSignedIn(atGitHub, replica))
      assert.strictEqual((yield* verify(replica, atGitHub, json.backupCodes[0])).status, 200)
      assert.isTrue(yield* isSignedIn(atGitHub, replica))

      const forgetful = makeBrowser()
      yield* liftShortLimits
      yield* replica.signIn.requestPasswordReset(forgetful.toBrowser(), { email, returnPath: "/dashboard" })
      const token = Redacted.make(yield* replica.nextToken)
      const chosen = { token, password: Redacted.make("another horse battery"), returnPath: "/dashboard/keys" }
      const redirect = yield* replica.signIn.resetPassword(forgetful.toBrowser(), chosen)
      forgetful.keep(redirect.cookies)
      assert.match(redirect.location, /\/oauth\/second-factor\?next=%2Fdashboard%2Fkeys$/)
      assert.isFalse(yield* isSignedIn(forgetful, replica))
    })
  )

  it.effect("R66: an app's request goes on after the code", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica({ baseUrl: "https://quarry.test" })
      const { codes, email } = yield* aPerson(replica)
      const app = yield* Apps.makeApp(replica)
      const browser = makeBrowser()
      const asked = yield* Apps.authorize(
        replica,
        browser,
        Apps.authorizationQuery(replica, app, Apps.makeProof().challenge)
      )
      const authorizationRequest = asked.slice(asked.indexOf("?") + 1)
      const credentials = { email, password: Redacted.make(password), authorizationRequest, returnPath: asked }
      yield* liftShortLimits
      const challenged = yield* replica.signIn.withPassword(browser.toBrowser(), credentials)
      browser.keep(challenged.cookies)
      assert.strictEqual(new URL(challenged.location).searchParams.get("next"), asked)
      const early = yield* browser.post(replica, "/oauth2/consent", { accept: true, oauth_query: authorizationRequest })
      assert.strictEqual(early.status, 401)
      const wrong = { code: Redacted.make("000000"), returnPath: asked }
      assert.strictEqual((yield* Effect.flip(replica.signIn.withCode(browser.toBrowser(), wrong)))._tag, "InvalidField")
      const right = { code: Redacted.make(codes[0] ?? ""), returnPath: asked }
      const entered = yield* replica.signIn.withCode(browser.toBrowser(), right)
      browser.keep(entered.cookies)
      assert.match(entered.location, /\/oauth\/consent\?/)
      assert.isTrue(yield* isSignedIn(browser, replica))
    })
  )

  it.effect("R66: in a browser that is signed in, the password renews the sign-in, in the same account", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const { browser, email } = yield* aPerson(replica)
      const { account, sessionId } = yield* browser.whoAmI(replica)
      yield* liftShortLimits
      yield* browser.signIn(replica, email)
      const renewed = yield* browser.whoAmI(replica)
      assert.strictEqual(renewed.account.id, account.id)
      assert.notStrictEqual(renewed.sessionId, sessionId)
    })
  )

  it.effect(
    "R66, R87: an operator's sign-in is renewed with the second factor, even in a browser that is signed in",
    () =>
      Effect.gen(function* () {
        const replica = yield* makeReplica()
        const sql = yield* SqlClient.SqlClient
        const { browser, codes, email } = yield* aPerson(replica)
        const { personId, sessionId } = yield* browser.whoAmI(replica)
        yield* sql`insert into operators (user_id, role, added_by) values (${personId}, 'operator', 'ann')`
        yield* sql`update auth_sessions set created_at = created_at - interval '11 minutes' where id = ${sessionId}`
        const passwords = { currentPassword: password, newPassword: "another horse battery", revokeOtherSessions: true }
        const { json, status } = yield* post(replica, browser, "/change-password", passwords)
        assert.deepStrictEqual([status, json.code], [403, "fresh_sign_in_required"])
        yield* halfIn(replica, email, browser)
        assert.isFalse((yield* browser.whoAmI(replica)).isFresh)
        assert.strictEqual((yield* verify(replica, browser, codes[0] ?? "")).status, 200)
        assert.isTrue((yield* browser.whoAmI(replica)).isFresh)
      })
  )
}

const enrollment = (it: Vitest.MethodsNonLive<Services>): void => {
  it.effect("R66: factors change only within ten minutes of a sign-in", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const sql = yield* SqlClient.SqlClient
      const { browser, email } = yield* aPerson(replica)
      const { sessionId } = yield* browser.whoAmI(replica)
      yield* sql`update auth_sessions set created_at = created_at - interval '11 minutes' where id = ${sessionId}`
      const changes = ["enable", "disable", "generate-backup-codes"].map((name) => `/two-factor/${name}`)
      for (const path of [...changes, "/passkey/delete-passkey"]) {
        const { json, status } = yield* post(replica, browser, path, { id: "a passkey" })
        assert.deepStrictEqual([status, json.code], [403, "fresh_sign_in_required"], path)
      }
      assert.strictEqual((yield* browser.get(replica, "/passkey/generate-register-options")).status, 403)
      yield* liftShortLimits
      yield* browser.signIn(replica, email)
      assert.strictEqual((yield* post(replica, browser, "/two-factor/disable")).status, 200)
      assert.isTrue(yield* isSignedIn(browser, replica))
      assert.strictEqual((yield* makeBrowser().signIn(replica, email)).json.twoFactorRedirect, undefined)
    })
  )

  it.effect("R66: the first factor ends the person's other sessions, which did not need it", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const email = yield* makeEmail
      const [browser, other] = [makeBrowser(), makeBrowser()]
      yield* browser.signUp(replica, email)
      yield* other.signIn(replica, email)
      const { json } = yield* post(replica, browser, "/two-factor/enable")
      assert.isTrue(yield* isSignedIn(other, replica))
      yield* verify(replica, browser, codeOf(json.totpURI))
      assert.deepStrictEqual([yield* isSignedIn(browser, replica), yield* isSignedIn(other, replica)], [true, false])
    })
  )

  it.effect("R66: with REQUIRE_SECOND_FACTOR, a session can only set up a factor until there is one", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica({ baseUrl: "https://quarry.test", requiresSecondFactor: true })
      const email = yield* makeEmail
      const browser = makeBrowser()
      yield* browser.signUp(replica, email)
      assert.isTrue((yield* browser.whoAmI(replica)).needsSecondFactor)
      for (const [path, body] of [
        ["/change-password", { currentPassword: password, newPassword: "another horse battery" }],
        ["/oauth2/consent", { accept: true, oauth_query: "" }]
      ] as const) {
        assert.strictEqual((yield* post(replica, browser, path, body)).status, 403, path)
      }
      const { json } = yield* post(replica, browser, "/two-factor/enable")
      assert.isTrue((yield* browser.whoAmI(replica)).needsSecondFactor)
      yield* verify(replica, browser, codeOf(json.totpURI))
      assert.isFalse((yield* browser.whoAmI(replica)).needsSecondFactor)
    })
  )
}

const places = (it: Vitest.MethodsNonLive<Services>): void => {
  it.effect("R66: a sign-in from a browser and network not seen for 90 days sends a link that ends its session", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const sql = yield* SqlClient.SqlClient
      const email = yield* makeEmail
      const home = makeBrowser("100.64.200.1")
      yield* home.signUp(replica, email)
      yield* home.signIn(replica, email)
      yield* liftShortLimits
      const stranger = makeBrowser("100.64.201.1")
      yield* stranger.signIn(replica, email)
      const { link, token } = yield* replica.nextNotice
      assert.strictEqual(new URL(link).pathname, "/oauth/end-session")
      assert.isFalse(yield* replica.sessions.endByLink(Redacted.make(`x${token}`)))
      assert.isTrue(yield* isSignedIn(stranger, replica))
      assert.isTrue(yield* replica.sessions.endByLink(Redacted.make(token)))
      assert.deepStrictEqual([yield* isSignedIn(stranger, replica), yield* isSignedIn(home, replica)], [false, true])
      yield* stranger.signIn(replica, email)
      yield* sql`update auth_places set seen_at = seen_at - interval '91 days'`
      yield* liftShortLimits
      yield* home.signIn(replica, email)
      const second = yield* replica.nextNotice
      assert.notStrictEqual(second.token, token)
    })
  )
}

const operators = (it: Vitest.MethodsNonLive<Services>): void => {
  it.effect("R66: an operator removes all factors of a person, whose sessions end", () =>
    Effect.gen(function* () {
      const secrets = singleKeyring(Redacted.make("a secret of at least thirty-two characters for tests"))
      const built = yield* Layer.build(PeopleBetterAuth.layer({ baseUrl: "http://quarry.test", secrets }))
      const people = Context.get(built, People)
      const replica = yield* makeReplica()
      const { browser, email } = yield* aPerson(replica)
      assert.strictEqual((yield* people.resetFactors(email.toUpperCase()))?.email, email)
      assert.isFalse(yield* isSignedIn(browser, replica))
      const again = makeBrowser()
      yield* liftShortLimits
      assert.strictEqual((yield* again.signIn(replica, email)).json.twoFactorRedirect, undefined)
      assert.isTrue(yield* isSignedIn(again, replica))
      assert.isUndefined(yield* people.resetFactors("nobody@example.com"))
    })
  )
}
