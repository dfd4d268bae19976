import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import { Compat } from "../../src/compat/Compat.ts"
import { compatShapes } from "../../src/domain/compat/CompatShape.ts"
import { UpstreamError, UpstreamTimeout } from "../../src/domain/errors.ts"
import { loopbackNetworks, parseNetwork } from "../../src/domain/net/Network.ts"
import { unsentError } from "../../src/domain/providers/Unsent.ts"
import type { SearchRequest } from "../../src/domain/search/SearchRequest.ts"
import { Accounts } from "../../src/services/accounts/Accounts.ts"
import { Keyless, makeKeyless } from "../../src/services/accounts/Keyless.ts"
import { TrustedProxies } from "../../src/services/accounts/TrustedProxies.ts"
import { QueryLog } from "../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../src/services/credits/Ledger.ts"
import { SignedIn } from "../../src/testing/SessionsMemory.ts"
import { everyShape } from "../support/api/Compat.ts"
import { aCaller, type Caller, demoOrigin, found, providing, services } from "../support/api/Services.ts"
import * as TestApi from "../support/api/TestApi.ts"

const asked: Array<SearchRequest> = []

const providers = providing((request) => {
  asked.push(request)
  const { query } = request
  if (query === "unsent") return Effect.fail(unsentError(new Set(["cool_down"])))
  if (query === "fail") return Effect.fail(new UpstreamError({ message: "The search provider could not be reached." }))
  if (query === "late") return Effect.fail(new UpstreamTimeout({ message: "The search provider did not answer." }))
  if (query === "boom") return Effect.die(new Error("a bug with a secret inside"))
  return Effect.succeed(found(30))
})

const everything = services(providers).pipe(Layer.provideMerge(everyShape))

interface Form {
  readonly method: "GET" | "POST"
  readonly path: (query: string) => string
  readonly body?: (query: string) => object
  /** The errors' statuses, where they are not the API's own. */
  readonly quota: number
  readonly isOwnEnvelope: boolean
  /** The error's message in the service's format. */
  // biome-ignore lint/suspicious/noExplicitAny: as in TestApi.
  readonly messageIn?: (json: any) => unknown
}

const get = { method: "GET" as const, path: (query: string) => `/compat/searxng/search?format=json&q=${query}` }

/** One request of each service. */
const forms: Readonly<Record<string, Form>> = {
  searxng: { ...get, quota: 402, isOwnEnvelope: true },
  tavily: {
    method: "POST",
    path: () => "/compat/tavily/search",
    body: (query) => ({ query }),
    quota: 432,
    isOwnEnvelope: false,
    messageIn: ({ detail, ...others }) => (Object.keys(others).length === 0 ? detail.error : undefined)
  },
  brave: {
    method: "GET",
    path: (query) => `/compat/brave/res/v1/web/search?q=${query}`,
    quota: 402,
    isOwnEnvelope: false,
    messageIn: ({ error, type }) => (type === "ErrorResponse" && error.code !== "" ? error.detail : undefined)
  },
  serper: {
    method: "POST",
    path: () => "/compat/serper/search",
    body: (query) => ({ q: query, num: 3 }),
    quota: 402,
    isOwnEnvelope: false,
    messageIn: ({ message, statusCode }) => (statusCode >= 400 ? message : undefined)
  },
  exa: {
    method: "POST",
    path: () => "/compat/exa/search",
    body: (query) => ({ query, numResults: 3 }),
    quota: 402,
    isOwnEnvelope: false,
    messageIn: ({ error, tag }) => (/^[A-Z_]+$/.test(tag) ? error : undefined)
  },
  openwebui: {
    method: "POST",
    path: () => "/compat/openwebui",
    body: (query) => ({ query, count: 3 }),
    quota: 402,
    isOwnEnvelope: true
  },
  perplexity: {
    method: "POST",
    path: () => "/compat/perplexity/search",
    body: (query) => ({ query, max_results: 3 }),
    quota: 402,
    isOwnEnvelope: true
  }
}

const send = (api: TestApi.TestApi, form: Form, query: string, headers: Record<string, string>) =>
  api.send(form.method, form.path(query), {
    headers: { ...headers, ...(form.body === undefined ? {} : { "content-type": "application/json" }) },
    ...(form.body === undefined ? {} : { body: JSON.stringify(form.body(query)) })
  })

const postJson = (api: TestApi.TestApi, path: string, body: object, headers: Record<string, string> = {}) =>
  api.send("POST", path, { headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) })

const spent = Effect.fnUntraced(function* (caller: Pick<Caller, "account">) {
  const ledger = yield* Ledger
  const { balance, used } = yield* ledger.allowance(caller.account)
  const log = yield* Effect.flatMap(QueryLog, (queryLog) => queryLog.recent(caller.account.id, 100))
  assert.deepStrictEqual(yield* ledger.verify, [])
  return { used, balance, log }
})

const assertForm = ({ isOwnEnvelope, messageIn }: Form, answer: TestApi.Answer, code: string) => {
  if (isOwnEnvelope) {
    assert.strictEqual(answer.json.error, code)
    assert.strictEqual(answer.json.request_id, answer.headers.get("x-request-id"))
  } else {
    assert.isString(messageIn?.(answer.json), answer.text)
  }
}

const growth = aCaller({ plan: "growth" })

describe.each(Object.entries(forms))("/compat/%s", (name, form) => {
  it.effect("R43: is 404 with every credential unless it is turned on", () =>
    Effect.gen(function* () {
      const { auth } = yield* growth
      const answer = yield* send(yield* TestApi.make, form, "css", auth)
      assert.strictEqual(answer.status, 404)
      assert.strictEqual(answer.json.error, "not_found")
    }).pipe(
      Effect.provide(
        services(providers).pipe(
          Layer.provideMerge(
            Layer.succeed(Compat, {
              shapes: compatShapes.filter((it) => it !== name),
              engines: {}
            })
          )
        )
      )
    )
  )

  it.effect("R43: costs one credit and one hit, and is logged under its name", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const answer = yield* send(
        yield* TestApi.make,
        form,
        "css%20%20grid".replaceAll("%20", form.body === undefined ? "%20" : " "),
        caller.auth
      )
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("x-credits-used"), "1")
      assert.strictEqual(answer.headers.get("x-ratelimit-remaining"), "299")
      const { log, used } = yield* spent(caller)
      assert.strictEqual(used, 1)
      assert.deepStrictEqual(
        log.map(({ credits, keyId, request }) => [request.query, request.source, credits, keyId === undefined]),
        [["css grid", `compat:${name}`, 1, false]]
      )
    }).pipe(Effect.provide(everything))
  )

  it.effect("R43: 401, 400, 402, 429, 500, 502 and 504 are in its form, and a failure is never an empty 200", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const caller = yield* growth
      const cases = [
        ["nobody", {}, 401, "unauthorized", 0],
        ["", caller.auth, 400, "invalid_request", 0],
        ["fail", caller.auth, 502, "upstream_error", 1],
        ["late", caller.auth, 504, "upstream_timeout", 1],
        ["boom", caller.auth, 500, "internal_error", 0]
      ] as const
      let charged = 0
      for (const [query, headers, status, code, credits] of cases) {
        const answer = yield* send(api, form, query, headers)
        assert.strictEqual(answer.status, status, query)
        assertForm(form, answer, code)
        assert.notInclude(answer.text, "secret inside")
        if (status === 401) assert.strictEqual(answer.headers.get("www-authenticate"), 'Bearer realm="quarry"')
        charged += credits
        assert.strictEqual((yield* spent(caller)).used, charged, query)
      }
      const trial = yield* aCaller({ plan: "custom", quota: 0, concurrency: 1 })
      const broke = yield* send(api, form, "css", trial.auth)
      assert.strictEqual(broke.status, form.quota)
      assertForm(form, broke, "quota_exceeded")
      assert.strictEqual(broke.headers.get("x-quota-remaining"), "0")
      for (let i = 1; i < 60; i++) yield* send(api, form, "css", trial.auth)
      const limited = yield* send(api, form, "css", trial.auth)
      assert.strictEqual(limited.status, 429)
      assertForm(form, limited, "rate_limited")
      assert.isNotNull(limited.headers.get("retry-after"))
    }).pipe(Effect.provide(everything), Effect.provide(Logger.layer([])))
  )

  it.effect("R76: a search for which no provider is asked is free, not logged, and says so in its form", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const answer = yield* send(yield* TestApi.make, form, "unsent", caller.auth)
      assert.strictEqual(answer.status, 502)
      assertForm(form, answer, "upstream_error")
      assert.match(answer.text, /No search provider was asked, .* Nothing was charged; try again in a minute\./)
      assert.strictEqual(answer.headers.get("x-credits-used"), "0")
      assert.deepInclude(yield* spent(caller), { used: 0, log: [] })
    }).pipe(Effect.provide(everything))
  )

  it.effect("R43: keys alone are credentials, the first that is present is judged, and nothing falls through", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const caller = yield* growth
      const { secret } = caller
      const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString("base64")}` })
      const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(caller.account))
      const status = (headers: Record<string, string>) =>
        Effect.map(send(api, form, "css", headers), (answer) => answer.status)
      for (const good of [
        { authorization: `bearer  ${secret}` },
        basic(`${secret}:`),
        basic(`anyone:${secret}`),
        { "x-api-key": secret },
        { "x-subscription-token": secret },
        { "x-api-key": secret, "x-subscription-token": "wrong" }
      ]) {
        assert.strictEqual(yield* status(good), 200, JSON.stringify(good))
      }
      for (const bad of [
        { authorization: "Bearer sk_live_wrong", "x-api-key": secret },
        { authorization: "", "x-api-key": secret },
        { authorization: `Token ${secret}` },
        { authorization: "Basic %%%" },
        basic("anyone:wrong"),
        { "x-api-key": "wrong", "x-subscription-token": secret },
        { cookie, origin: "http://quarry.test" },
        { "x-demo-origin": demoOrigin },
        {}
      ]) {
        assert.strictEqual(yield* status(bad), 401, JSON.stringify(bad))
      }
      assert.strictEqual((yield* spent(caller)).used, 6)
    }).pipe(Effect.provide(everything))
  )

  it.effect("R43: a long query is cut at a word, and the access log says what its length was", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const caller = yield* growth
      const words = "word ".repeat(100).trim()
      yield* send(yield* TestApi.make, form, form.body === undefined ? encodeURIComponent(words) : words, caller.auth)
      const [entry] = (yield* spent(caller)).log
      assert.strictEqual(entry?.request.query, "word ".repeat(80).trim())
      assert.include(lines.join("\n"), '"query_cut_from":499')
    }).pipe(
      Effect.provide(everything),
      Effect.provide(Logger.layer([Logger.map(Logger.formatJson, (line) => void lines.push(line))]))
    )
  })
})

describe("POST /compat/tavily/search", () => {
  it.effect("R43: takes a key in the body where no header has one", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { secret } = yield* growth
      const search = (apiKey: unknown, headers = {}) =>
        Effect.map(
          postJson(api, "/compat/tavily/search", { query: "css", api_key: apiKey }, headers),
          ({ status }) => status
        )
      assert.strictEqual(yield* search(secret), 200)
      assert.strictEqual(yield* search(secret, { "x-api-key": "wrong" }), 401)
      for (const wrong of ["wrong", 7, {}, [], true, { toString: 1 }]) assert.strictEqual(yield* search(wrong), 401)
      // A body that cannot be read holds no key (R1).
      const broken = yield* api.send("POST", "/compat/tavily/search", { body: "{" })
      assert.strictEqual(broken.status, 401)
    }).pipe(Effect.provide(everything))
  )

  it.effect("R43: a key in a body or a Basic credential is in no log", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const api = yield* TestApi.make
      const { secret } = yield* growth
      const basic = Buffer.from(`:${secret}`).toString("base64")
      for (const query of ["css", "fail", "boom", ""]) {
        yield* postJson(api, "/compat/tavily/search", { query, api_key: secret })
        yield* postJson(api, "/compat/tavily/search", { query }, { authorization: `Basic ${basic}` })
      }
      assert.isAbove(lines.length, 8)
      for (const text of [secret, basic]) assert.notInclude(lines.join(), text)
    }).pipe(
      Effect.provide(everything),
      Effect.provide(Logger.layer([Logger.map(Logger.formatJson, (line) => void lines.push(line))])),
      Effect.provideService(References.MinimumLogLevel, "All")
    )
  })
})

/** An account whose credits keyless calls spend. */
const withKeyless = (networks = loopbackNetworks, hops = 1) =>
  Layer.effect(
    Keyless,
    Effect.gen(function* () {
      const { account } = yield* aCaller({ plan: "growth" })
      return yield* makeKeyless(account.id, networks)
    })
  ).pipe(Layer.orDie, Layer.provideMerge(everything), Layer.merge(Layer.succeed(TrustedProxies, hops)))

describe("calls without a key", () => {
  const local = { "x-forwarded-for": "127.0.0.1" }

  const keylessAccount = Effect.flatMap(Keyless, (keyless) => {
    assert.isDefined(keyless)
    return Effect.map(keyless.principal, ({ account }) => account)
  })

  it.effect("R43: are taken from the networks that the operator named, and spend the account's credits", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const account = yield* keylessAccount
      for (const [address, status] of [
        ["172.17.0.5", 200],
        ["::ffff:172.17.0.5", 200],
        ["172.32.0.1", 401],
        ["127.0.0.1", 401],
        ["8.8.8.8", 401],
        ["", 401]
      ] as const) {
        const answer = yield* api.get(get.path("css"), { "x-forwarded-for": address })
        assert.strictEqual(answer.status, status, address)
      }
      const { log, used } = yield* spent({ account })
      assert.strictEqual(used, 2)
      assert.deepStrictEqual([log[0]?.request.source, log[0]?.keyId], ["compat:searxng", undefined])
    }).pipe(Effect.provide(withKeyless([parseNetwork("172.16.0.0/12") ?? assert.fail()])))
  )

  it.effect("R43: are never taken from a page of another site, nor beside a key that is wrong", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const status = (headers: Record<string, string>) =>
        Effect.map(api.get(get.path("css"), { ...local, ...headers }), (answer) => answer.status)
      assert.strictEqual(yield* status({}), 200)
      assert.strictEqual(yield* status({ "sec-fetch-mode": "cors" }), 200)
      assert.strictEqual(yield* status({ "sec-fetch-site": "same-origin" }), 200)
      assert.strictEqual(yield* status({ "sec-fetch-site": "none" }), 200)
      assert.strictEqual(yield* status({ origin: "http://quarry.test" }), 200)
      for (const host of ["127.0.0.1:3000", "[::1]:3000", "localhost", "quarry:3000", "QUARRY.TEST"]) {
        assert.strictEqual(yield* status({ host }), 200, host)
      }
      for (const headers of [
        { origin: "https://evil.example" },
        { origin: "null" },
        { host: "evil.example:3000" },
        { host: "localhost.evil.example" },
        { host: "host.docker.internal" },
        { host: "quarry.local:3000" },
        { host: "app.localhost" },
        { host: "127.0.0.1.evil.example" },
        { host: "" },
        { "sec-fetch-site": "cross-site" },
        { "sec-fetch-site": "same-site" },
        { "x-api-key": "wrong" },
        { authorization: "Bearer " }
      ]) {
        assert.strictEqual(yield* status(headers), 401, JSON.stringify(headers))
      }
    }).pipe(Effect.provide(withKeyless()))
  )

  it.effect("R43: are never accepted through an untrusted proxy beside a trusted one", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const status = (headers: Record<string, string>) =>
        Effect.map(api.get(get.path("css"), headers), (answer) => answer.status)
      assert.strictEqual(yield* status({ ...local, via: "1.1 ours", "x-real-ip": "127.0.0.1" }), 200)
      for (const headers of [
        { "x-forwarded-for": "8.8.8.8, 127.0.0.1" },
        { "x-forwarded-for": "127.0.0.1, 127.0.0.1" },
        { ...local, via: "1.1 theirs, 1.1 ours" },
        { ...local, forwarded: "for=8.8.8.8, for=127.0.0.1" }
      ]) {
        assert.strictEqual(yield* status(headers), 401, JSON.stringify(headers))
      }
    }).pipe(Effect.provide(withKeyless()))
  )

  it.effect("R43: are not taken for a suspended account, from the next look at it on", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { id } = yield* keylessAccount
      const status = Effect.map(api.get(get.path("css"), local), (answer) => answer.status)
      assert.strictEqual(yield* status, 200)
      yield* Effect.flatMap(Accounts, (accounts) => accounts.suspend(id))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* status, 401)
      yield* Effect.flatMap(Accounts, (accounts) => accounts.resume(id))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* status, 200)
    }).pipe(Effect.provide(withKeyless()))
  )

  it.effect("R43: are not taken unless an account is named", () =>
    Effect.gen(function* () {
      const answer = yield* (yield* TestApi.make).get(get.path("css"), local)
      assert.strictEqual(answer.status, 401)
    }).pipe(Effect.provide(everything))
  )
})
