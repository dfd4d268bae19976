import { assert, type Vitest } from "@effect/vitest"
import { Effect, Exit, Redacted } from "effect"
import type { SqlClient } from "effect/sql"
import type { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import type { StoreClock } from "../../../../src/services/StoreClock.ts"
import * as Apps from "../../../support/accounts/Apps.ts"
import { rotatingKeyring } from "../../../support/accounts/rotatingKeyring.ts"
import { makeBrowser, makeReplica, password, type Replica } from "../../../support/accounts/SignIn.ts"
import { makeEmail } from "../../../support/api/searches.ts"

type Services = Accounts | Ids | SqlClient.SqlClient | StoreClock

const providerClient = { clientId: "a-client", clientSecret: Redacted.make("a client's secret") }

/** A deployment whose AUTH_SECRET a test rotates, with a person who is signed in. */
const makeSite = Effect.gen(function* () {
  const secrets = rotatingKeyring()
  const replica = yield* makeReplica({ baseUrl: "https://quarry.test", secrets, github: providerClient })
  const email = yield* makeEmail
  const browser = makeBrowser()
  assert.strictEqual((yield* browser.signUp(replica, email)).status, 200)
  return { secrets, replica, email, browser }
})

/** The states of a process after a rotation began, each with what leads to it. */
const stages = {
  "while both values are given": ({ give }: Secrets) => give(),
  "while a rotation runs": ({ give, rotate }: Secrets) => {
    give()
    rotate()
  }
}
type Secrets = ReturnType<typeof rotatingKeyring>

const isSignedIn = (browser: Apps.Browser, replica: Replica) =>
  Effect.map(Effect.exit(browser.whoAmI(replica)), Exit.isSuccess)

const works = ({ accessTokens }: Replica, token: string) =>
  Effect.map(Effect.exit(accessTokens.authenticate(Redacted.make(token))), Exit.isSuccess)

/** What was made with the old AUTH_SECRET and is still good during a rotation (R56), over any database. */
export const renewalConformance = (it: Vitest.MethodsNonLive<Services>): void => {
  for (const [name, enter] of Object.entries(stages)) {
    it.effect(`R56: sessions and their routes go on ${name}`, () =>
      Effect.gen(function* () {
        const { browser, email, replica, secrets } = yield* makeSite
        const other = makeBrowser()
        yield* other.signIn(replica, email)
        enter(secrets)
        assert.isTrue(yield* isSignedIn(browser, replica))
        assert.strictEqual((yield* browser.get(replica, "/get-session")).json?.user.email, email)
        const words = { currentPassword: password, newPassword: "another correct horse" }
        assert.strictEqual((yield* browser.post(replica, "/change-password", words)).status, 200)
        assert.deepStrictEqual([yield* isSignedIn(browser, replica), yield* isSignedIn(other, replica)], [true, false])
        assert.strictEqual((yield* browser.post(replica, "/sign-out")).status, 200)
        assert.isFalse(yield* isSignedIn(browser, replica))
      })
    )

    it.effect(`R56: an app's tokens and codes are good ${name}`, () =>
      Effect.gen(function* () {
        const { browser, replica, secrets } = yield* makeSite
        const { app, tokens } = yield* Apps.letIn(replica, browser)
        const waiting = yield* Apps.makeCode(replica, browser, app)
        const revoked = yield* Apps.letIn(replica, browser)
        enter(secrets)
        assert.isTrue(yield* works(replica, tokens.access))
        const fromCode = Apps.tokensOf(yield* waiting.redeem())
        assert.isTrue(yield* works(replica, fromCode.access))
        const next = Apps.tokensOf(yield* Apps.refresh(replica, app, tokens.refresh))
        assert.isTrue(yield* works(replica, next.access))
        // A retry of the same app gets a new pair, and ends nothing (R79).
        assert.strictEqual((yield* Apps.refresh(replica, app, tokens.refresh)).status, 200)
        assert.isTrue(yield* works(replica, next.access))

        assert.strictEqual((yield* Apps.revoke(replica, revoked.app, revoked.tokens.access)).status, 200)
        assert.isFalse(yield* works(replica, revoked.tokens.access))
        assert.strictEqual((yield* Apps.revoke(replica, revoked.app, revoked.tokens.refresh)).status, 200)
        assert.strictEqual((yield* Apps.refresh(replica, revoked.app, revoked.tokens.refresh)).status, 400)
      })
    )

    it.effect(`R56: a code that was redeemed before and is used again ends its tokens ${name}`, () =>
      Effect.gen(function* () {
        const { browser, replica, secrets } = yield* makeSite
        const { app, redeem, tokens } = yield* Apps.letIn(replica, browser)
        enter(secrets)
        assert.strictEqual((yield* redeem()).json.error, "invalid_grant")
        assert.isFalse(yield* works(replica, tokens.access))
        assert.strictEqual((yield* Apps.refresh(replica, app, tokens.refresh)).status, 400)
      })
    )

    it.effect(`R56: the link of a forgotten password is good once ${name}`, () =>
      Effect.gen(function* () {
        const { browser, email, replica, secrets } = yield* makeSite
        yield* makeBrowser().post(replica, "/request-password-reset", { email, redirectTo: "/dashboard" })
        const { token } = yield* replica.nextLink
        enter(secrets)
        const reset = { token, newPassword: "another correct horse" }
        assert.strictEqual((yield* makeBrowser().post(replica, "/reset-password", reset)).status, 200)
        assert.strictEqual((yield* makeBrowser().post(replica, "/reset-password", reset)).status, 400)
        assert.isFalse(yield* isSignedIn(browser, replica))
        assert.strictEqual((yield* browser.signIn(replica, email, reset.newPassword)).status, 200)
      })
    )

    it.effect(`R56: a person decides on an app's request that was made before, ${name}`, () =>
      Effect.gen(function* () {
        const { browser, replica, secrets } = yield* makeSite
        const app = yield* Apps.makeApp(replica)
        const { challenge } = Apps.makeProof()
        const asked = yield* Apps.authorize(replica, browser, Apps.authorizationQuery(replica, app, challenge))
        const request = asked.slice(asked.indexOf("?") + 1)
        enter(secrets)
        const { authorizationRequests } = replica
        const forged = request.replace("33418", "33419")
        const refusal = yield* Effect.flip(authorizationRequests.describe(browser.toBrowser(), forged))
        assert.strictEqual(refusal._tag, "AuthorizationRequestExpired")
        assert.strictEqual((yield* authorizationRequests.describe(browser.toBrowser(), request)).appName, "An App")
        const { location } = yield* authorizationRequests.decide(browser.toBrowser(), request, "allow")
        assert.isTrue(location.startsWith(`${Apps.callback}?code=`), location)
      })
    )

    it.effect(`R56: a browser comes back from a provider that it was sent to before, ${name}`, () =>
      Effect.gen(function* () {
        const { replica, secrets } = yield* makeSite
        const browser = makeBrowser()
        const request = { provider: "github", callbackURL: "/dashboard" }
        const { json } = yield* browser.post(replica, "/sign-in/social", request)
        const state = new URL(json.url).searchParams.get("state")
        enter(secrets)
        // The response of a provider that refuses: a person who did not ask for it is led elsewhere.
        const answer = yield* browser.get(replica, `/callback/github?error=access_denied&state=${state}`)
        assert.include(answer.headers.get("location"), "error=access_denied")
      })
    )
  }

  it.effect("R56: replicas that see the rotation one after the other take each other's sessions and tokens", () =>
    Effect.gen(function* () {
      const [early, late] = [rotatingKeyring(), rotatingKeyring()]
      early.give()
      late.give()
      const one = yield* makeReplica({ baseUrl: "https://quarry.test", secrets: early })
      const two = yield* makeReplica({ baseUrl: "https://quarry.test", secrets: late })
      const email = yield* makeEmail
      const browser = makeBrowser()
      yield* browser.signUp(two, email)
      const { app, ...given } = yield* Apps.letIn(two, browser)
      let { tokens } = given
      early.rotate()
      for (const replica of [one, two, one, two, one]) {
        assert.isTrue(yield* isSignedIn(browser, replica))
        assert.strictEqual((yield* browser.get(replica, "/get-session")).json?.user.email, email)
        assert.isTrue(yield* works(replica, tokens.access))
        tokens = Apps.tokensOf(yield* Apps.refresh(replica, app, tokens.refresh))
      }
      early.finish()
      // The last tokens are of the replica that rotates: they do not need the old value.
      assert.isTrue(yield* works(one, tokens.access))
      assert.strictEqual((yield* Apps.refresh(one, app, tokens.refresh)).status, 200)
    })
  )
}
