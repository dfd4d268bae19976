import { gzipSync } from "node:zlib"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from "jose"
import type { SingleSignOn } from "../../../src/layers/auth/betterAuth/Options.ts"
import { dumpOf, liftShortLimits, makeBrowser, makeReplica, type Replica } from "../../support/accounts/SignIn.ts"
import { makeEmail } from "../../support/api/searches.ts"
import * as HostileOpenId from "../../support/servers/HostileOpenId.ts"
import * as EmbeddedDatabase from "../../support/stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"

const client = { clientId: "quarry", clientSecret: Redacted.make("a secret of the client, which is long enough") }

type Browser = ReturnType<typeof makeBrowser>

const setUp = Effect.fnUntraced(function* (behavior: HostileOpenId.Behavior = {}) {
  const provider = yield* HostileOpenId.make(client.clientId)
  provider.behavior.current = behavior
  const oidc: SingleSignOn = { ...client, issuer: provider.issuer, name: "SSO", domains: [], isOnly: false }
  const replica = yield* makeReplica({ delivers: true, oidc })
  return { provider, replica }
})

/** The state and nonce of a request to sign in. */
const ask = Effect.fnUntraced(function* (replica: Replica, browser: Browser) {
  yield* liftShortLimits
  const { json, status } = yield* browser.post(replica, "/sign-in/social", { provider: "oidc" })
  const parameters = status === 200 ? new URL(json.url).searchParams : new URLSearchParams()
  return { status, state: parameters.get("state") ?? "", nonce: parameters.get("nonce") }
})

/** The error that a response leads to. */
const comeBack = Effect.fnUntraced(function* (replica: Replica, browser: Browser, response: Record<string, string>) {
  const { headers } = yield* browser.get(replica, `/callback/oidc?${new URLSearchParams(response)}`)
  return new URL(headers.get("location") ?? "", replica.baseUrl).searchParams.get("error") ?? undefined
})

const personOf = (email: string, more: object = {}) => ({
  sub: `subject of ${email}`,
  email,
  email_verified: true,
  ...more
})

const expectNothing = Effect.fnUntraced(function* (replica: Replica, browser: Browser, email: string) {
  assert.strictEqual((yield* Effect.flip(browser.whoAmI(replica)))._tag, "unauthorized")
  assert.notInclude(yield* dumpOf, email)
})

const soon = () => Math.floor(Date.now() / 1000)

const withSecret = (claims: JWTPayload, secret: string) =>
  new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "one" }).sign(new TextEncoder().encode(secret))

const withOtherKey = async (claims: JWTPayload) =>
  new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "one" }).sign((await generateKeyPair("ES256")).privateKey)

const manyBytes = 64 * 1024 * 1024

const unread = "unable_to_get_user_info"

const badTokens: Readonly<Record<string, HostileOpenId.Behavior>> = {
  "is from another issuer": { claims: { iss: "https://other.example" } },
  "is for another audience": { claims: { aud: "another client" } },
  "has two audiences and no authorized party": { claims: { aud: ["quarry", "another client"] } },
  "was issued to another authorized party": { claims: { azp: "another client" } },
  "has expired": { claims: { exp: soon() - 120 } },
  "never expires": { claims: { exp: undefined } },
  "is not valid yet": { claims: { nbf: soon() + 600 } },
  "was issued in the future": { claims: { iat: soon() + 600, exp: soon() + 1200 } },
  "was issued long ago": { claims: { iat: soon() - 3600 } },
  "is unsigned": { sign: (claims) => new UnsecuredJWT(claims).encode() },
  "is signed with another key": { sign: withOtherKey },
  "is signed with the client's secret": { sign: (claims) => withSecret(claims, Redacted.value(client.clientSecret)) },
  "is not a token": { sign: () => "not a token" },
  "has no nonce": { claims: { nonce: undefined } },
  "has another nonce": { claims: { nonce: "another nonce" } },
  "has no subject": { claims: { sub: undefined } },
  "has a userinfo response about someone else": {
    claims: { email: undefined },
    userinfo: { sub: "someone else", email: "else@example.com", email_verified: true }
  }
}

/** Each has good keys, which would be read without a limit. */
const badKeys: Readonly<Record<string, HostileOpenId.Behavior["respondWithKeys"] & {}>> = {
  "larger than 256 KiB": (response, keys) => response.end(keys.padEnd(300 * 1024)),
  "a decompression bomb": (response, keys) =>
    response.setHeader("content-encoding", "gzip").end(gzipSync(keys.padEnd(manyBytes))),
  "a redirect": (response) => response.writeHead(302, { location: "/.well-known/openid-configuration" }).end(),
  "not JSON": (response) => response.end("keys")
}

layer(SqlStorage.layer(EmbeddedDatabase.layer))("R66: single sign-on, at a hostile provider", (it) => {
  it.effect("a good response signs in, with several audiences and this one authorized", () =>
    Effect.gen(function* () {
      const { provider, replica } = yield* setUp({ claims: { aud: ["quarry", "api"], azp: "quarry" } })
      const browser = makeBrowser()
      const email = yield* makeEmail
      const { nonce, state } = yield* ask(replica, browser)
      const response = { code: provider.codeFor(nonce, personOf(email)), state, iss: provider.issuer }
      assert.isUndefined(yield* comeBack(replica, browser, response))
      assert.strictEqual((yield* browser.whoAmI(replica)).account.email, email)
    })
  )

  it.effect.each(Object.entries(badTokens))("an ID token that %s is refused", ([, behavior]) =>
    Effect.gen(function* () {
      const { provider, replica } = yield* setUp(behavior)
      const browser = makeBrowser()
      const email = yield* makeEmail
      const { nonce, state } = yield* ask(replica, browser)
      const error = yield* comeBack(replica, browser, { code: provider.codeFor(nonce, personOf(email)), state })
      assert.strictEqual(error, unread)
      yield* expectNothing(replica, browser, email)
    })
  )

  it.effect.each(Object.entries(badKeys))("a key set that is %s is refused", ([, respondWithKeys]) =>
    Effect.gen(function* () {
      const { provider, replica } = yield* setUp({ respondWithKeys })
      const browser = makeBrowser()
      const email = yield* makeEmail
      const { nonce, state } = yield* ask(replica, browser)
      const error = yield* comeBack(replica, browser, { code: provider.codeFor(nonce, personOf(email)), state })
      assert.strictEqual(error, unread)
      yield* expectNothing(replica, browser, email)
    })
  )

  it.effect("a key set that does not arrive is given up after five seconds", () =>
    Effect.gen(function* () {
      const { provider, replica } = yield* setUp({ respondWithKeys: () => undefined })
      const browser = makeBrowser()
      const { nonce, state } = yield* ask(replica, browser)
      const response = { code: provider.codeFor(nonce, personOf(yield* makeEmail)), state }
      const error = yield* Effect.forkChild(comeBack(replica, browser, response))
      yield* provider.keysAsked
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* Fiber.join(error), unread)
    })
  )

  it.effect.each([
    ["of another issuer", { issuer: "https://other.example" }],
    ["with an endpoint that is not https", { token_endpoint: "http://192.0.2.1/token" }],
    ["without keys", { jwks_uri: undefined }]
  ] as const)("a discovery document %s is refused", ([, metadata]) =>
    Effect.gen(function* () {
      const { replica } = yield* setUp({ metadata })
      assert.strictEqual((yield* ask(replica, makeBrowser())).status, 424)
    })
  )

  it.effect("a response of another issuer is refused, and one without `iss` if the provider always sends it", () =>
    Effect.gen(function* () {
      const { provider, replica } = yield* setUp({ metadata: { authorization_response_iss_parameter_supported: true } })
      const email = yield* makeEmail
      for (const iss of [{ iss: "https://other.example" }, {}]) {
        const browser = makeBrowser()
        const { nonce, state } = yield* ask(replica, browser)
        const code = provider.codeFor(nonce, personOf(email))
        assert.strictEqual(yield* comeBack(replica, browser, { code, state, ...iss }), "issuer_mismatch")
        const failed = { error: "access_denied", state: (yield* ask(replica, browser)).state, ...iss }
        assert.strictEqual(yield* comeBack(replica, browser, failed), "issuer_mismatch")
        yield* expectNothing(replica, browser, email)
      }
    })
  )

  it.effect("the first response uses up state and nonce, even if the browser sends its cookie again", () =>
    Effect.gen(function* () {
      const { provider, replica } = yield* setUp()
      for (const first of ["good", "failed", "of another issuer"] as const) {
        const browser = makeBrowser()
        const { nonce, state } = yield* ask(replica, browser)
        const cookies = [...browser.cookies]
        const code = provider.codeFor(nonce, personOf(yield* makeEmail))
        const responses = {
          good: { code, state },
          failed: { error: "access_denied", state },
          "of another issuer": { code, state, iss: "https://other.example" }
        }
        yield* comeBack(replica, browser, responses[first])
        const thief = makeBrowser()
        for (const [name, value] of cookies) thief.cookies.set(name, value)
        const email = yield* makeEmail
        const again = { code: provider.codeFor(nonce, personOf(email)), state }
        assert.strictEqual(yield* comeBack(replica, thief, again), "state_mismatch", first)
        yield* expectNothing(replica, thief, email)
      }
    })
  )

  it.effect("a state of another browser is refused, and stays valid in its own", () =>
    Effect.gen(function* () {
      const { provider, replica } = yield* setUp()
      const email = yield* makeEmail
      const [attacker, victim] = [makeBrowser(), makeBrowser()]
      const { nonce, state } = yield* ask(replica, attacker)
      yield* ask(replica, victim)
      const response = { code: provider.codeFor(nonce, personOf(email)), state }
      assert.strictEqual(yield* comeBack(replica, victim, response), "state_mismatch")
      yield* expectNothing(replica, victim, email)
      assert.isUndefined(yield* comeBack(replica, attacker, response))
    })
  )

  it.effect("a code with the nonce of an earlier sign-in is refused", () =>
    Effect.gen(function* () {
      const { provider, replica } = yield* setUp()
      const email = yield* makeEmail
      const earlier = yield* ask(replica, makeBrowser())
      const browser = makeBrowser()
      const { state } = yield* ask(replica, browser)
      const response = { code: provider.codeFor(earlier.nonce, personOf(email)), state }
      assert.strictEqual(yield* comeBack(replica, browser, response), unread)
      yield* expectNothing(replica, browser, email)
    })
  )

  it.effect.each([
    ["unverified", { email_verified: false }, "email_not_verified"],
    ["of unknown state", { email_verified: undefined }, "email_not_verified"],
    ["absent", { email: undefined }, "email_not_found"],
    ["unstorable", { email: "a\0@example.com" }, "email_not_found"]
  ] as const)("an email address that is %s opens nothing", ([, claims, expected]) =>
    Effect.gen(function* () {
      const { provider, replica } = yield* setUp({ userinfo: { sub: "the subject" } })
      const browser = makeBrowser()
      const email = yield* makeEmail
      const { nonce, state } = yield* ask(replica, browser)
      const code = provider.codeFor(nonce, personOf(email, { sub: "the subject", ...claims }))
      assert.strictEqual(yield* comeBack(replica, browser, { code, state }), expected)
      yield* expectNothing(replica, browser, email)
    })
  )

  it.effect("an address that Entra ID calls the domain owner's is verified", () =>
    Effect.gen(function* () {
      const { provider, replica } = yield* setUp()
      const browser = makeBrowser()
      const email = yield* makeEmail
      const { nonce, state } = yield* ask(replica, browser)
      const code = provider.codeFor(nonce, personOf(email, { email_verified: undefined, xms_edov: true }))
      assert.isUndefined(yield* comeBack(replica, browser, { code, state }))
    })
  )
})
