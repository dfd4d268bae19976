import { assert, type Vitest } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { makeSecret } from "../../../src/domain/keys/ApiKey.ts"
import { Accounts } from "../../../src/services/accounts/Accounts.ts"
import { KeyStore } from "../../../src/services/keys/KeyStore.ts"
import { SignedIn } from "../../../src/testing/SessionsMemory.ts"
import { aCaller, demoOrigin, marketplaceSecret } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"

/** The variants of each kind of credential in a request. */
const states = ["absent", "valid", "invalid", "malformed"] as const
type State = (typeof states)[number]

/**
 * R22, written out: which credential is judged, by what is present of Authorization, Marketplace, Cookie and Demo.
 * `refused` is 401, valid or not; so is a missing credential.
 */
const judged: Readonly<Record<string, "key" | "marketplace" | "session" | "demo" | "refused">> = {
  "----": "refused",
  "---D": "demo",
  "--C-": "session",
  "--CD": "refused",
  "-M--": "marketplace",
  "-M-D": "refused",
  "-MC-": "marketplace",
  "-MCD": "refused",
  "A---": "key",
  "A--D": "refused",
  "A-C-": "key",
  "A-CD": "refused",
  "AM--": "refused",
  "AM-D": "refused",
  "AMC-": "refused",
  AMCD: "refused"
}

/** The spec's "Accepted on", R23 and R25. */
const searches: ReadonlyArray<string> = ["key", "session", "marketplace", "demo"]
const accountRoutes: ReadonlyArray<string> = ["key", "session", "marketplace"]
const sessionOnly: ReadonlyArray<string> = ["session"]

interface Route {
  readonly method: string
  readonly path: string
  readonly body?: string
  readonly accepts: ReadonlyArray<string>
  /** The answer to who is accepted. */
  readonly status: number
}

const routes: ReadonlyArray<Route> = [
  { method: "GET", path: "/v1/query?query=a", accepts: searches, status: 200 },
  { method: "POST", path: "/v1/bulk", body: '{"queries":["a"]}', accepts: searches, status: 200 },
  // The test's web has no page, so that who is accepted gets the reason (R58).
  { method: "GET", path: "/v1/page?url=http://a.test/", accepts: accountRoutes, status: 422 },
  { method: "POST", path: "/v1/pages", body: '{"urls":["http://a.test/"]}', accepts: accountRoutes, status: 200 },
  { method: "GET", path: "/v1/me", accepts: accountRoutes, status: 200 },
  {
    method: "POST",
    path: "/mcp",
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    accepts: ["key", "oauth", "session"],
    status: 200
  },
  { method: "GET", path: "/v1/usage", accepts: sessionOnly, status: 200 },
  { method: "GET", path: "/v1/query/recent", accepts: sessionOnly, status: 200 },
  { method: "GET", path: "/v1/query/history", accepts: sessionOnly, status: 200 },
  { method: "GET", path: "/v1/api-keys", accepts: sessionOnly, status: 200 },
  { method: "POST", path: "/v1/api-keys", body: '{"name":"CI"}', accepts: sessionOnly, status: 201 },
  { method: "PATCH", path: "/v1/api-keys/{id}", body: '{"targets":null}', accepts: sessionOnly, status: 200 },
  { method: "POST", path: "/v1/api-keys/{id}/rotate", accepts: sessionOnly, status: 200 },
  { method: "DELETE", path: "/v1/api-keys/{id}", accepts: sessionOnly, status: 204 },
  { method: "GET", path: "/v1/sessions", accepts: sessionOnly, status: 200 },
  { method: "DELETE", path: "/v1/sessions/nothing", accepts: sessionOnly, status: 404 },
  { method: "GET", path: "/v1/apps", accepts: sessionOnly, status: 200 },
  { method: "DELETE", path: "/v1/apps/nothing", accepts: sessionOnly, status: 404 },
  { method: "GET", path: "/v1/billing", accepts: sessionOnly, status: 200 },
  { method: "POST", path: "/v1/billing/checkout", body: '{"plan":"growth"}', accepts: sessionOnly, status: 201 },
  { method: "POST", path: "/v1/billing/plan", body: '{"plan":"growth"}', accepts: sessionOnly, status: 200 },
  { method: "POST", path: "/v1/billing/packs", body: '{"credits":10000}', accepts: sessionOnly, status: 201 },
  { method: "POST", path: "/v1/billing/portal", accepts: sessionOnly, status: 201 },
  { method: "POST", path: "/v1/billing/sync", body: "{}", accepts: sessionOnly, status: 200 },
  { method: "GET", path: "/v1/webhooks", accepts: sessionOnly, status: 200 },
  { method: "POST", path: "/v1/webhooks", body: '{"url":"https://hooks.test/"}', accepts: sessionOnly, status: 201 },
  { method: "GET", path: "/v1/webhooks/settings", accepts: sessionOnly, status: 200 },
  { method: "PATCH", path: "/v1/webhooks/settings", body: "{}", accepts: sessionOnly, status: 200 },
  { method: "PATCH", path: "/v1/webhooks/nothing", body: "{}", accepts: sessionOnly, status: 404 },
  { method: "DELETE", path: "/v1/webhooks/nothing", accepts: sessionOnly, status: 404 },
  { method: "POST", path: "/v1/webhooks/nothing/test", accepts: sessionOnly, status: 404 },
  { method: "POST", path: "/v1/webhooks/nothing/rotate", accepts: sessionOnly, status: 404 },
  { method: "GET", path: "/v1/webhooks/nothing/deliveries", accepts: sessionOnly, status: 404 },
  { method: "POST", path: "/v1/webhooks/nothing/deliveries/1/redeliver", accepts: sessionOnly, status: 404 },
  { method: "GET", path: "/v1/account/export", accepts: sessionOnly, status: 200 },
  { method: "GET", path: "/v1/account/events", accepts: sessionOnly, status: 200 },
  { method: "DELETE", path: "/v1/account", accepts: sessionOnly, status: 204 }
]

type Api = Effect.Success<typeof TestApi.make>

type Headers = Readonly<Record<string, string>>

interface Variant {
  readonly state: State
  /** Contents of `Authorization` other than a key. */
  readonly kind?: "oauth"
  readonly name: string
  readonly headers: Headers
}

const absent: Variant = { state: "absent", name: "absent", headers: {} }

/** Every way in which a kind is absent, valid, invalid or malformed. */
interface Variants {
  readonly authorization: ReadonlyArray<Variant>
  readonly marketplace: ReadonlyArray<Variant>
  readonly cookie: ReadonlyArray<Variant>
  readonly demo: ReadonlyArray<Variant>
}

const unknownSecret = makeSecret("live", new Uint8Array(32))

const variantsOf = (
  secrets: { live: string; test: string; revoked: string },
  cookie: string,
  app: string
): Variants => {
  const authorization = (state: State, name: string, value: string): Variant => ({
    state,
    name,
    headers: { authorization: value }
  })
  const marketplace = (state: State, name: string, secret?: string, user?: string): Variant => ({
    state,
    name,
    headers: {
      ...(secret === undefined ? {} : { "x-marketplace-proxy-secret": secret }),
      ...(user === undefined ? {} : { "x-marketplace-user": user })
    }
  })
  const session = (state: State, name: string, value: string): Variant => ({ state, name, headers: { cookie: value } })
  const demo = (state: State, name: string, value: string): Variant => ({
    state,
    name,
    headers: { "x-demo-origin": value }
  })
  return {
    authorization: [
      absent,
      authorization("valid", "live key", `Bearer ${secrets.live}`),
      authorization("valid", "test key, scheme in lower case", `bearer ${secrets.test}`),
      authorization("invalid", "revoked key", `Bearer ${secrets.revoked}`),
      authorization("invalid", "unknown key", `Bearer ${unknownSecret}`),
      { ...authorization("valid", "token of an app", app), kind: "oauth" },
      authorization("malformed", "no key", "Bearer x"),
      authorization("malformed", "no token", "Bearer"),
      authorization("malformed", "another scheme", `Basic ${secrets.live}`),
      authorization("malformed", "two tokens", `Bearer ${secrets.live} ${secrets.live}`),
      authorization("malformed", "empty", "")
    ],
    marketplace: [
      absent,
      marketplace("valid", "subscriber", marketplaceSecret, "ada"),
      marketplace("invalid", "wrong secret", "another secret", "ada"),
      marketplace("malformed", "no secret", undefined, "ada"),
      marketplace("malformed", "no user", marketplaceSecret),
      marketplace("malformed", "empty user", marketplaceSecret, ""),
      marketplace("malformed", "two users", marketplaceSecret, "eve, ada"),
      marketplace("malformed", "user of 257 characters", marketplaceSecret, "a".repeat(257))
    ],
    cookie: [
      absent,
      { ...absent, name: "absent: another cookie", headers: { cookie: "theme=dark; __Secure-quarry.session_token=x" } },
      session("valid", "session", cookie),
      session("valid", "session beside another cookie", `theme=dark; ${cookie}`),
      session("invalid", "unknown session", "quarry.session_token=unknown"),
      session("malformed", "empty", "quarry.session_token="),
      session("malformed", "sent twice", `${cookie}; ${cookie}`)
    ],
    demo: [
      absent,
      demo("valid", "demo origin", demoOrigin),
      demo("invalid", "another origin", "https://elsewhere.test"),
      demo("malformed", "empty", ""),
      demo("malformed", "sent twice", `${demoOrigin}, ${demoOrigin}`)
    ]
  }
}

/** One variant of each state, and then each further variant alone: what is malformed cannot matter beside another. */
const requestsOf = ({ authorization, cookie, demo, marketplace }: Variants): ReadonlyArray<ReadonlyArray<Variant>> => {
  const kinds = [authorization, marketplace, cookie, demo]
  const ofState = (variants: ReadonlyArray<Variant>, state: State): Variant => {
    const found = variants.find((variant) => variant.state === state)
    assert.isDefined(found)
    return found ?? absent
  }
  const combinations = states.flatMap((a) =>
    states.flatMap((m) =>
      states.flatMap((c) =>
        states.map((d) => [ofState(authorization, a), ofState(marketplace, m), ofState(cookie, c), ofState(demo, d)])
      )
    )
  )
  const alone = kinds.flatMap((variants, kind) =>
    variants.map((variant) => kinds.map((_, index) => (index === kind ? variant : absent)))
  )
  return [...combinations, ...alone]
}

const expected = (route: Route, request: ReadonlyArray<Variant>): number => {
  const present = request.map(({ state }, kind) => (state === "absent" ? "-" : ["A", "M", "C", "D"][kind])).join("")
  const judgedKind = judged[present] ?? "refused"
  const { kind = judgedKind, state } = request[["key", "marketplace", "session", "demo"].indexOf(judgedKind)] ?? absent
  return route.accepts.includes(kind) && state === "valid" ? route.status : 401
}

/** The credentials of a caller with an account of its own: some rows end what they use. */
const aPerson = Effect.gen(function* () {
  const keys = yield* KeyStore
  const { account, secret } = yield* aCaller({ plan: "custom", quota: 1_000_000 })
  const another = (mode: "live" | "test") => keys.create(account.id, { label: "another", mode })
  const test = yield* another("test")
  const revoked = yield* another("live")
  yield* keys.revoke(revoked.key.id)
  const signedIn = yield* SignedIn
  const cookie = yield* signedIn.cookie(account)
  const app = yield* signedIn.app(account)
  const secrets = { live: secret, test: Redacted.value(test.secret), revoked: Redacted.value(revoked.secret) }
  const variants = variantsOf(secrets, cookie, app)
  return { account, keyId: test.key.id, variants, requests: requestsOf(variants) }
}).pipe(Effect.orDie)

/** Sends a request of a route with these credentials. */
const sendWith = (api: Api, route: Route, keyId: string, request: ReadonlyArray<Variant>) => {
  const headers = Object.assign(
    {
      "content-type": "application/json",
      origin: "http://quarry.test",
      "x-forwarded-for": "192.0.2.1",
      "x-quarry-dashboard": "1"
    },
    ...request.map((variant) => variant.headers)
  )
  const init = route.body === undefined ? { headers } : { headers, body: route.body }
  return api.send(route.method, route.path.replace("{id}", keyId), init)
}

/** Every combination over every route, against one deployment. */
export const credentialTable = (it: Vitest.MethodsNonLive<Accounts | KeyStore | SignedIn | TestApi.Services>): void => {
  for (const route of routes) {
    it.effect(`R22: ${route.method} ${route.path}`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        let person = yield* aPerson
        const count = person.requests.length
        assert.isAtLeast(count, 256)
        for (let row = 0; row < count; row++) {
          const request = person.requests[row] ?? []
          const status = expected(route, request)
          const answer = yield* sendWith(api, route, person.keyId, request)
          const name = request.map((variant) => variant.name).join(" | ")
          assert.strictEqual(answer.status, status, `${name}: ${answer.text}`)
          if (status === 401) {
            assert.strictEqual(answer.json.error, "unauthorized")
            assert.isNull(answer.headers.get("x-ratelimit-limit"), "a 401 does not count (R1)")
          }
          // Its key or the account itself is gone.
          if (status !== 401 && route.accepts === sessionOnly) person = yield* aPerson
        }
      })
    )

    it.effect(`R49: ${route.method} ${route.path} accepts no credential of a suspended account`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        const accounts = yield* Accounts
        const { account, keyId, variants } = yield* aPerson
        const { authorization, cookie, demo, marketplace } = variants
        const subscriber = yield* accounts.ofSubscriber("ada", "growth")
        const valid = [...authorization, ...marketplace, ...cookie].filter(({ state }) => state === "valid")
        const statuses = Effect.forEach(valid, (variant) =>
          Effect.map(sendWith(api, route, keyId, [variant]), (answer) =>
            answer.status === 401 ? [answer.status, answer.json.error] : [answer.status]
          )
        )
        // Known to this replica before.
        yield* api.send("GET", "/v1/me", { headers: { ...authorization[1]?.headers } })
        for (const { id } of [account, subscriber]) yield* accounts.suspend(id)
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(
          yield* statuses,
          valid.map(() => [401, "unauthorized"])
        )
        if (route.accepts.includes("demo")) {
          const visitor = demo.filter(({ state }) => state === "valid")
          assert.strictEqual((yield* sendWith(api, route, keyId, visitor)).status, route.status)
        }
        for (const { id } of [account, subscriber]) yield* accounts.resume(id)
        yield* TestClock.adjust("10 seconds")
        assert.include(
          (yield* statuses).map(([status]) => status),
          route.status
        )
      })
    )
  }
}
