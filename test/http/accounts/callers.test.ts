import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as MarketplaceProxy from "../../../src/layers/auth/MarketplaceProxy.ts"
import { Accounts } from "../../../src/services/accounts/Accounts.ts"
import { Marketplace } from "../../../src/services/accounts/Marketplace.ts"
import { QueryLog } from "../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { Deployment } from "../../../src/services/operations/Deployment.ts"
import { authentications } from "../../../src/services/telemetry/Metrics.ts"
import { MemoryStore } from "../../../src/testing/MemoryStore.ts"
import { SignedIn } from "../../../src/testing/SessionsMemory.ts"
import { request, toolCall } from "../../support/api/Mcp.ts"
import { aCaller, demoOrigin, found, marketplaceSecret, providing, services } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"
import * as MemoryStorage from "../../support/stores/MemoryStorage.ts"

const layer = services(providing(() => Effect.succeed(found(3))))

const rateLimited = [
  "ratelimit",
  "ratelimit-policy",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
  "x-request-id"
]

const bulk = (headers: Record<string, string>, queries: ReadonlyArray<string>) => ({
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify({ queries })
})

describe("R24: the demo", () => {
  const from = (address: string) => ({ "x-demo-origin": demoOrigin, "x-forwarded-for": address })

  it.effect("costs nothing, knows no quota, and is logged without an account", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const store = yield* MemoryStore
      const one = yield* api.get("/v1/query?query=a", from("192.0.2.1"))
      const batch = yield* api.send("POST", "/v1/bulk", bulk(from("192.0.2.1"), ["b", ""]))
      for (const answer of [one, batch]) {
        assert.strictEqual(answer.status, 200)
        assert.deepStrictEqual(TestApi.apiHeaders(answer), [...rateLimited, "x-credits-used"].sort())
        assert.strictEqual(answer.headers.get("x-credits-used"), "0")
        assert.strictEqual(answer.headers.get("x-ratelimit-limit"), "5")
      }
      assert.deepStrictEqual(
        store.queries.map(({ accountId, credits, keyId, request }) => [accountId, keyId, credits, request.source]),
        [
          [undefined, undefined, 0, "demo"],
          [undefined, undefined, 0, "demo"]
        ]
      )
      assert.notInclude(JSON.stringify(store.queries), "192.0.2.1")
    }).pipe(Effect.provide(layer))
  )

  it.effect("admits 5 requests a minute from an address, and from an IPv6 /64", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const ask = (address: string) => Effect.map(api.get("/v1/query?query=a", from(address)), ({ status }) => status)
      for (const n of [1, 2, 3, 4, 5])
        assert.strictEqual(yield* ask(n % 2 === 0 ? "192.0.2.1" : "::ffff:192.0.2.1"), 200)
      assert.strictEqual(yield* ask("192.0.2.1"), 429)
      assert.strictEqual(yield* ask("203.0.113.9, 192.0.2.1"), 429)
      assert.strictEqual(yield* ask("192.0.2.2"), 200)
      for (const n of [1, 2, 3, 4, 5]) assert.strictEqual(yield* ask(`2001:db8:0:7::${n}`), 200)
      assert.strictEqual(yield* ask("2001:db8:0:7:ffff:ffff:ffff:ffff"), 429)
      assert.strictEqual(yield* ask("2001:db8:0:8::1"), 200)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* ask("192.0.2.1"), 200)
    }).pipe(Effect.provide(layer))
  )

  it.effect("is nothing for a caller whose address is not known", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      assert.strictEqual((yield* api.get("/v1/query?query=a", { "x-demo-origin": demoOrigin })).status, 401)
    }).pipe(Effect.provide(layer))
  )
})

describe("R23: the marketplace", () => {
  const as = (user: string) => ({ "x-marketplace-proxy-secret": marketplaceSecret, "x-marketplace-user": user })

  it.effect("is counted and never refused, and sees no quota", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const accounts = yield* Accounts
      const one = yield* api.get("/v1/query?query=a", as("ada"))
      const batch = yield* api.send("POST", "/v1/bulk", bulk(as("ada"), ["b", "c"]))
      const nothing = yield* api.send("POST", "/v1/bulk", bulk(as("ada"), [""]))
      const answers = [one, batch, nothing]
      for (const answer of answers) {
        assert.strictEqual(answer.status, 200)
        assert.deepStrictEqual(TestApi.apiHeaders(answer), [...rateLimited, "x-credits-used"].sort())
        assert.strictEqual(answer.headers.get("x-ratelimit-limit"), "1200")
      }
      assert.deepStrictEqual(
        answers.map(({ headers }) => headers.get("x-credits-used")),
        ["1", "2", "0"]
      )
      const account = yield* accounts.ofSubscriber("ada", "growth")
      const allowance = yield* Effect.flatMap(Ledger, (ledger) => ledger.allowance(account))
      assert.deepInclude(allowance, { quota: undefined, used: 3, balance: 0 })
      const log = yield* Effect.flatMap(QueryLog, (queryLog) => queryLog.recent(account.id, 10))
      assert.deepStrictEqual(
        log.map(({ request }) => request.source),
        ["marketplace", "marketplace", "marketplace"]
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("/v1/me shows no address and the largest figure that every client reads exactly", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      yield* api.get("/v1/query?query=a", as("ada"))
      const answer = yield* api.get("/v1/me", as("ada"))
      assert.deepStrictEqual(answer.json, {
        email: "",
        plan: "growth",
        credits_available: Number.MAX_SAFE_INTEGER,
        api_key: null
      })
      assert.deepStrictEqual(TestApi.apiHeaders(answer), rateLimited)
    }).pipe(Effect.provide(layer))
  )

  it.effect("subscribers have accounts and counters of their own", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const accounts = yield* Accounts
      for (const _ of Array(3)) yield* api.get("/v1/me", as("ada"))
      const other = yield* api.get("/v1/me", as("Ada"))
      assert.strictEqual(other.headers.get("x-ratelimit-remaining"), "1199")
      const [ada, otherAda] = yield* Effect.all([
        accounts.ofSubscriber("ada", "growth"),
        accounts.ofSubscriber("Ada", "growth")
      ])
      assert.notStrictEqual(ada?.id, otherAda?.id)
    }).pipe(Effect.provide(layer))
  )

  const secrets = [Redacted.make("old secret"), Redacted.make("new secret")]
  const over = (options: MarketplaceProxy.MarketplaceProxyOptions) =>
    MarketplaceProxy.layer(options).pipe(Layer.provide(MemoryStorage.layer))
  const ask = (secret: string) =>
    Effect.flatMap(Marketplace, (marketplace) => Effect.exit(marketplace.authenticate(Redacted.make(secret), "ada")))

  it.effect("knows two secrets during rotation, and neither of no others", () =>
    Effect.gen(function* () {
      for (const secret of ["old secret", "new secret"]) assert.strictEqual((yield* ask(secret))._tag, "Success")
      for (const secret of ["", "old", "old secret ", "old secret,new secret", "x".repeat(100_000)]) {
        assert.strictEqual((yield* ask(secret))._tag, "Failure", secret.slice(0, 30))
      }
    }).pipe(Effect.provide(over({ secrets, plan: "growth" })))
  )

  it.effect("without a secret nobody is believed, not even with an empty one", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* ask(""))._tag, "Failure")
    }).pipe(Effect.provide(over({ secrets: [], plan: "growth" })))
  )

  it.effect("without a plan for subscribers the right secret is refused too", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* ask("old secret"))._tag, "Failure")
    }).pipe(Effect.provide(over({ secrets, plan: undefined })))
  )
})

describe("R25: requests with a session's cookie", () => {
  /** Values of the headers in which a browser names the calling page; undefined where it sends none. */
  const origins = [
    undefined,
    "http://quarry.test",
    "https://evil.test",
    "https://quarry.test",
    "http://quarry.test:8080",
    "http://quarry.test, https://evil.test",
    "null",
    ""
  ]
  const sites = [undefined, "same-origin", "none", "same-site", "cross-site", "same-origin, none", ""]

  const saysOwn = (origin: string | undefined, site: string | undefined): boolean =>
    (origin === undefined || origin === "http://quarry.test") &&
    (site === undefined || /^(same-origin|none)$/.test(site))

  interface Route {
    readonly method: string
    readonly path: string
    readonly body?: string
    /** The status of a request from another site, and of a request without an origin. */
    readonly elsewhere: number
    readonly silent: number
    readonly own: number
  }
  const routes: ReadonlyArray<Route> = [
    { method: "GET", path: "/v1/query?query=a", elsewhere: 401, silent: 200, own: 200 },
    { method: "POST", path: "/v1/bulk", body: '{"queries":["a"]}', elsewhere: 401, silent: 200, own: 200 },
    { method: "POST", path: "/mcp", body: request("ping"), elsewhere: 401, silent: 200, own: 200 },
    { method: "POST", path: "/v1/api-keys", body: '{"name":"CI"}', elsewhere: 401, silent: 401, own: 201 },
    { method: "GET", path: "/v1/api-keys", elsewhere: 200, silent: 200, own: 200 },
    { method: "GET", path: "/v1/me", elsewhere: 200, silent: 200, own: 200 }
  ]

  const statusFor = (route: Route, origin: string | undefined, site: string | undefined): number => {
    if (!saysOwn(origin, site)) return route.elsewhere
    return origin === undefined && site !== "same-origin" ? route.silent : route.own
  }

  for (const route of routes) {
    it.effect(`${route.method} ${route.path}: every pair of Origin and Sec-Fetch-Site`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        for (const origin of origins) {
          for (const site of sites) {
            const { account } = yield* aCaller({ plan: "trial" })
            const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(account))
            const answer = yield* api.send(route.method, route.path, {
              headers: {
                cookie,
                "content-type": "application/json",
                "x-quarry-dashboard": "1",
                ...(origin === undefined ? {} : { origin }),
                ...(site === undefined ? {} : { "sec-fetch-site": site })
              },
              body: route.body ?? null
            })
            const status = statusFor(route, origin, site)
            assert.strictEqual(answer.status, status, `Origin: ${origin}, Sec-Fetch-Site: ${site}`)
            if (status !== 401) continue
            assert.strictEqual(answer.json.error, "unauthorized")
            assert.isNull(answer.headers.get("x-ratelimit-limit"), "a 401 does not count (R1)")
          }
        }
      }).pipe(Effect.provide(layer))
    )
  }

  /** Where browsers name the calling page, and where they do not. */
  const deployments = [
    ["https://quarry.test", 200],
    ["http://localhost:3000", 200],
    ["http://127.0.0.1:3000", 200],
    ["http://[::1]:3000", 200],
    ["http://quarry.test", 401],
    ["http://192.168.1.5:3000", 401],
    ["http://quarry:3000", 401],
    ["http://localhost.example.com", 401]
  ] as const
  for (const [origin, withoutHeader] of deployments) {
    it.effect(`R25: at ${origin} a session's cookie alone spends credits: ${withoutHeader}`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        const { account } = yield* aCaller({ plan: "starter" })
        const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(account))
        const used = Effect.map(
          Effect.flatMap(Ledger, (ledger) => ledger.allowance(account)),
          (allowance) => allowance.used
        )
        const spendings = [
          ["GET", "/v1/query?query=a", null],
          ["POST", "/v1/bulk", '{"queries":["a"]}'],
          ["POST", "/mcp", toolCall("web_search", { query: "a" })]
        ] as const
        const send = (headers: Record<string, string>) =>
          Effect.forEach(spendings, ([method, path, body]) =>
            Effect.map(
              api.send(method, path, { headers: { cookie, "content-type": "application/json", ...headers }, body }),
              ({ status }) => status
            )
          )
        const alike = (status: number) => spendings.map(() => status)
        assert.deepStrictEqual(yield* send({}), alike(withoutHeader))
        assert.strictEqual(yield* used, withoutHeader === 200 ? 3 : 0)
        assert.deepStrictEqual(
          yield* send({ origin }),
          alike(withoutHeader),
          "our own Origin does not replace our script's header"
        )
        assert.deepStrictEqual(yield* send({ "x-quarry-dashboard": "1" }), alike(200))
        assert.deepStrictEqual(yield* send({ "x-quarry-dashboard": "1", origin: "https://evil.test" }), alike(401))
        // What spends nothing is as it was.
        assert.strictEqual((yield* api.get("/v1/me", { cookie })).status, 200)
      }).pipe(
        Effect.provide(
          Layer.succeed(Deployment, { origin, demoOrigin, corsOrigins: [] }).pipe(Layer.provideMerge(layer))
        )
      )
    )
  }

  it.effect("a refused one is counted as every other refused credential", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { account } = yield* aCaller({ plan: "trial" })
      const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(account))
      const refused = Metric.value(authentications.of("session", "refused"))
      const { count } = yield* refused
      yield* api.get("/v1/query?query=a", { cookie, origin: "https://evil.test" })
      assert.strictEqual((yield* refused).count, Number(count) + 1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("no credential but a session is asked where it comes from", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { auth } = yield* aCaller({ plan: "trial" })
      const elsewhere = { origin: "https://evil.test", "sec-fetch-site": "cross-site" }
      const marketplace = { "x-marketplace-proxy-secret": marketplaceSecret, "x-marketplace-user": "ada" }
      const demo = { "x-demo-origin": demoOrigin, "x-forwarded-for": "192.0.2.1" }
      // A session beside a credential that comes before it is not judged (R22).
      const beside = { ...auth, cookie: "quarry.session_token=x" }
      for (const credential of [auth, marketplace, demo, beside]) {
        const one = yield* api.get("/v1/query?query=a", { ...credential, ...elsewhere })
        const batch = yield* api.send("POST", "/v1/bulk", bulk({ ...credential, ...elsewhere }, ["a"]))
        assert.deepStrictEqual([one.status, batch.status], [200, 200])
      }
    }).pipe(Effect.provide(layer))
  )
})

describe("R1: the dashboard's routes", () => {
  it.effect("count against the session before anything of the request is looked at", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { account, auth } = yield* aCaller({ plan: "trial" })
      const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(account))
      for (let n = 0; n < 119; n++) yield* api.get("/v1/query/recent?limit=0", { cookie })
      assert.strictEqual((yield* api.get("/v1/usage", { ...auth })).status, 401)
      const last = yield* api.get("/v1/query/recent", { cookie })
      assert.strictEqual(last.headers.get("x-ratelimit-remaining"), "0")
      const refused = yield* api.get("/v1/query/recent?limit=0", { cookie })
      assert.strictEqual(refused.status, 429)
      assert.strictEqual((yield* api.get("/v1/me", auth)).status, 200)
    }).pipe(Effect.provide(layer))
  )

  it.effect("a session on a search route has its own source and no key", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { account } = yield* aCaller({ plan: "trial" })
      const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(account))
      yield* api.get("/v1/query?query=a", { cookie, "x-quarry-dashboard": "1" })
      const { queries } = (yield* api.get("/v1/query/recent", { cookie })).json
      assert.strictEqual(queries[0].source, "dashboard")
      assert.isNull(queries[0].key_id)
      assert.isNull((yield* api.get("/v1/me", { cookie })).json.api_key)
    }).pipe(Effect.provide(layer))
  )
})
