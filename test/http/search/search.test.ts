import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { UpstreamError } from "../../../src/domain/errors.ts"
import { QueryLog } from "../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { aCaller, aKeyOf, type Caller, found, providing, services } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"

/** Providers that fail when the query says so. */
const providers = providing(({ query }) => {
  if (query === "fail") return Effect.fail(new UpstreamError({ message: "The search provider could not be reached." }))
  if (query === "boom") return Effect.die(new Error("a bug with a secret inside"))
  if (query === "never") return Effect.never
  return Effect.succeed(found(12))
})

const rateLimitHeaders = [
  "ratelimit-policy",
  "ratelimit",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset"
]
const quotaHeaders = [
  "x-credits-used",
  "x-quota-limit",
  "x-quota-used",
  "x-quota-remaining",
  "x-credits-balance",
  "x-quota-reset"
]

const names = (...groups: ReadonlyArray<ReadonlyArray<string>>) => ["x-request-id", ...groups.flat()].sort()

const assertEnvelope = (answer: TestApi.Answer, status: number, code: string, ...more: ReadonlyArray<string>) => {
  assert.strictEqual(answer.status, status)
  assert.strictEqual(answer.headers.get("content-type"), "application/json")
  assert.strictEqual(answer.json.error, code)
  assert.isString(answer.json.message)
  assert.strictEqual(answer.json.request_id, answer.headers.get("x-request-id"))
  assert.sameMembers(Object.keys(answer.json), ["error", "message", "request_id", ...more])
}

const spent = Effect.fnUntraced(function* (caller: Caller) {
  const ledger = yield* Ledger
  const { used } = yield* ledger.allowance(caller.account)
  const log = yield* Effect.flatMap(QueryLog, (queryLog) => queryLog.recent(caller.account.id, 100))
  assert.deepStrictEqual(yield* ledger.verify, [])
  return { used, logged: log.length }
})

/** One search of a growing account, with its clock moved far enough for any outcome. */
const ask = Effect.fnUntraced(function* (path: string, caller: Caller, headers: Record<string, string> = {}) {
  const api = yield* TestApi.make
  const fiber = yield* Effect.forkChild(api.get(path, { ...caller.auth, ...headers }))
  for (let i = 0; i < 5; i++) {
    yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
    yield* TestClock.adjust("4 seconds")
  }
  return yield* Fiber.join(fiber)
})

const growth = aCaller({ plan: "growth" })

describe("GET /v1/query", () => {
  it.effect("200: answers the documented body and headers, and charges one credit", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const answer = yield* ask("/v1/query?query=%20css%20%20grid%20&geo=DE&num=2&source=test", caller)
      assert.strictEqual(answer.status, 200)
      assert.match(answer.json.id, /^qry_[0-9a-f]{32}$/)
      assert.deepStrictEqual(answer.json, {
        id: answer.json.id,
        target: "alpha_search",
        query: "css grid",
        geo: "de",
        locale: "de-de",
        page: 1,
        results: {
          organic: [1, 2].map((n) => ({
            position: n,
            title: `Title ${n}`,
            url: `https://www.example.com/${n}`,
            domain: "example.com",
            snippet: `Snippet ${n}`
          }))
        }
      })
      assert.deepStrictEqual(TestApi.apiHeaders(answer), names(rateLimitHeaders, quotaHeaders))
      assert.strictEqual(answer.headers.get("x-credits-used"), "1")
      assert.strictEqual(answer.headers.get("x-quota-limit"), "75000")
      assert.strictEqual(answer.headers.get("x-quota-used"), "0")
      assert.strictEqual(answer.headers.get("x-quota-remaining"), "75000")
      assert.deepStrictEqual(yield* spent(caller), { used: 1, logged: 1 })
      const [entry] = yield* Effect.flatMap(QueryLog, (log) => log.recent(caller.account.id, 1))
      assert.strictEqual(entry?.id, answer.json.id)
      assert.strictEqual(entry?.request.source, "test")
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("R11: the source of a key's search is api when it names none", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      yield* ask("/v1/query?query=a", caller)
      const [entry] = yield* Effect.flatMap(QueryLog, (log) => log.recent(caller.account.id, 1))
      assert.strictEqual(entry?.request.source, "api")
    }).pipe(Effect.provide(services(providers)))
  )

  const refusals: ReadonlyArray<readonly [string, string, string, ReadonlyArray<string>]> = [
    ["400 invalid_request", "/v1/query", "invalid_request", ["issues"]],
    ["400 unsupported_geo", "/v1/query?query=a&geo=zz", "unsupported_geo", ["details"]],
    ["400 unsupported_parameter", "/v1/query?query=a&target=zeta_search&num=11", "unsupported_parameter", []]
  ]
  for (const [name, path, code, more] of refusals) {
    it.effect(`${name}: carries rate-limit headers and no quota headers, charges and logs nothing`, () =>
      Effect.gen(function* () {
        const caller = yield* growth
        const answer = yield* ask(path, caller)
        assertEnvelope(answer, 400, code, ...more)
        assert.deepStrictEqual(TestApi.apiHeaders(answer), names(rateLimitHeaders))
        assert.deepStrictEqual(yield* spent(caller), { used: 0, logged: 0 })
      }).pipe(Effect.provide(services(providers)))
    )
  }

  it.effect("401 unauthorized: carries X-Request-Id only", () =>
    Effect.gen(function* () {
      const answer = yield* (yield* TestApi.make).get("/v1/query?query=a", {})
      assertEnvelope(answer, 401, "unauthorized")
      assert.deepStrictEqual(TestApi.apiHeaders(answer), names())
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("402 quota_exceeded: carries the figures and quota headers; nothing runs and nothing is logged", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "custom", quota: 1 })
      yield* ask("/v1/query?query=a", caller)
      const answer = yield* ask("/v1/query?query=b", caller)
      assertEnvelope(
        answer,
        402,
        "quota_exceeded",
        "plan",
        "quota",
        "credits_used",
        "remaining",
        "balance",
        "resets_at"
      )
      assert.deepInclude(answer.json, { plan: "custom", quota: 1, credits_used: 1, remaining: 0, balance: 0 })
      // The test's clock begins in January 1970.
      assert.strictEqual(answer.json.resets_at, "1970-02-01T00:00:00.000Z")
      assert.deepStrictEqual(TestApi.apiHeaders(answer), names(rateLimitHeaders, quotaHeaders))
      assert.strictEqual(answer.headers.get("x-credits-used"), "0")
      assert.strictEqual(answer.headers.get("x-quota-reset"), String(31 * 24 * 3600))
      assert.deepStrictEqual(yield* spent(caller), { used: 1, logged: 1 })
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("X-Quota-Reset is absent on the trial, and resets_at null", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "trial", concurrency: 10 })
      for (let i = 0; i < 100; i++) {
        const answer = yield* Effect.flatMap(TestApi.make, (api) => api.get(`/v1/query?query=q${i}`, caller.auth))
        assert.strictEqual(answer.status, 200)
        assert.isNull(answer.headers.get("x-quota-reset"))
      }
      const refused = yield* ask("/v1/query?query=over", caller)
      assert.strictEqual(refused.status, 402)
      assert.isNull(refused.json.resets_at)
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("429 rate_limited: carries rate-limit headers and Retry-After, and costs no credit (R27)", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "trial" })
      const api = yield* TestApi.make
      for (let i = 0; i < 60; i++) yield* api.get("/v1/me", caller.auth)
      const answer = yield* api.get("/v1/query?query=a", caller.auth)
      assertEnvelope(answer, 429, "rate_limited")
      assert.deepStrictEqual(TestApi.apiHeaders(answer), [...names(rateLimitHeaders), "retry-after"].sort())
      assert.strictEqual(answer.headers.get("retry-after"), "60")
      assert.strictEqual(answer.headers.get("x-ratelimit-remaining"), "0")
      assert.deepStrictEqual(yield* spent(caller), { used: 0, logged: 0 })
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* api.get("/v1/query?query=a", caller.auth)).status, 200)
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect(
    "R45: the RateLimit fields count requests and seconds down, and up again as requests leave the window",
    () =>
      Effect.gen(function* () {
        const caller = yield* aCaller({ plan: "trial" })
        const api = yield* TestApi.make
        const fields = Effect.map(api.get("/v1/me", caller.auth), ({ headers }) => [
          headers.get("ratelimit-policy"),
          headers.get("ratelimit")
        ])
        const policy = '"minute";q=60;w=60'
        assert.deepStrictEqual(yield* fields, [policy, '"minute";r=59;t=60'])
        yield* TestClock.adjust("22500 millis")
        assert.deepStrictEqual(yield* fields, [policy, '"minute";r=58;t=38'], "37.5 s, rounded up")
        for (let i = 0; i < 58; i++) yield* fields
        yield* TestClock.adjust("37499 millis")
        assert.deepStrictEqual(yield* fields, [policy, '"minute";r=0;t=1'], "never 0 while nothing is left")
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(yield* fields, [policy, '"minute";r=0;t=23'], "the oldest is the second request now")
      }).pipe(Effect.provide(services(providers)))
  )

  it.effect("500 internal_error: carries X-Request-Id only, reveals nothing, and returns the credit", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const answer = yield* ask("/v1/query?query=boom", caller)
      assertEnvelope(answer, 500, "internal_error")
      assert.deepStrictEqual(TestApi.apiHeaders(answer), names())
      assert.notInclude(answer.text, "secret")
      assert.deepStrictEqual(yield* spent(caller), { used: 0, logged: 0 })
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("502 upstream_error: is charged, logged, and carries the quota headers", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const answer = yield* ask("/v1/query?query=fail", caller)
      assertEnvelope(answer, 502, "upstream_error")
      assert.deepStrictEqual(TestApi.apiHeaders(answer), names(rateLimitHeaders, quotaHeaders))
      assert.strictEqual(answer.headers.get("x-credits-used"), "1")
      assert.deepStrictEqual(yield* spent(caller), { used: 1, logged: 1 })
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("504 upstream_timeout: after 15 seconds; is charged, logged, and carries the quota headers", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const answer = yield* ask("/v1/query?query=never", caller)
      assertEnvelope(answer, 504, "upstream_timeout")
      assert.deepStrictEqual(TestApi.apiHeaders(answer), names(rateLimitHeaders, quotaHeaders))
      assert.deepStrictEqual(yield* spent(caller), { used: 1, logged: 1 })
      const [entry] = yield* Effect.flatMap(QueryLog, (log) => log.recent(caller.account.id, 1))
      assert.deepInclude(entry, { outcome: "upstream_timeout", durationMs: 15_000, credits: 1 })
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("R1: the gates stand in order: 404, 401, 429, 400, 402", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const spentOut = yield* aCaller({ plan: "custom", quota: 0, concurrency: 1 })
      assert.strictEqual((yield* api.get("/v1/nothing?query=", {})).status, 404)
      assert.strictEqual((yield* api.get("/v1/query?query=", {})).status, 401)
      assert.strictEqual((yield* api.get("/v1/query?query=", spentOut.auth)).status, 400)
      assert.strictEqual((yield* api.get("/v1/query?query=a", spentOut.auth)).status, 402)
      for (let i = 0; i < 58; i++) yield* api.get("/v1/query", spentOut.auth)
      assert.strictEqual((yield* api.get("/v1/query?query=", spentOut.auth)).status, 429)
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("R15: a cached answer has a fresh id, is logged as cached and costs a credit, until it expires", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const api = yield* TestApi.make
      const first = yield* api.get("/v1/query?query=same", caller.auth)
      const second = yield* api.get("/v1/query?query=same&source=else", caller.auth)
      assert.notStrictEqual(first.json.id, second.json.id)
      assert.deepStrictEqual(first.json.results, second.json.results)
      yield* TestClock.adjust(Duration.minutes(5))
      yield* api.get("/v1/query?query=same", caller.auth)
      const log = yield* Effect.flatMap(QueryLog, (queryLog) => queryLog.recent(caller.account.id, 10))
      assert.deepStrictEqual(
        log.map(({ cached }) => cached),
        [false, true, false]
      )
      assert.deepStrictEqual(yield* spent(caller), { used: 3, logged: 3 })
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("R26: a test key spends the account's credits as a live key does", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const { auth } = yield* aKeyOf(caller, "test")
      const answer = yield* ask("/v1/query?query=a", { ...caller, auth })
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("x-ratelimit-limit"), "300")
      assert.deepStrictEqual(yield* spent(caller), { used: 1, logged: 1 })
    }).pipe(Effect.provide(services(providers)))
  )
})

describe("GET /v1/me", () => {
  it.effect("200: answers the account and its key, counts one hit (R26), costs and logs nothing", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      yield* Effect.flatMap(Ledger, (ledger) => ledger.grant(caller.account.id, 7, "test"))
      const answer = yield* ask("/v1/me", caller)
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(answer.json, {
        email: caller.account.email,
        plan: "growth",
        credits_available: 75_007,
        api_key: { id: caller.principal.key.id, label: "test", mode: "live" }
      })
      assert.deepStrictEqual(TestApi.apiHeaders(answer), names(rateLimitHeaders))
      assert.strictEqual(answer.headers.get("x-ratelimit-remaining"), "299")
      assert.deepStrictEqual(yield* spent(caller), { used: 0, logged: 0 })
    }).pipe(Effect.provide(services(providers)))
  )
})

describe("POST /v1/bulk", () => {
  const post = Effect.fnUntraced(function* (caller: Caller, body: string, type = "application/json") {
    const api = yield* TestApi.make
    return yield* api.send("POST", "/v1/bulk", { body, headers: { ...caller.auth, "content-type": type } })
  })

  it.effect("200: answers each row in input order with the batch's headers", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const body = { queries: ["a", { query: "b", num: 1, geo: "fr" }, { query: "fail" }, 5], geo: "de" }
      const answer = yield* post(caller, JSON.stringify(body))
      assert.strictEqual(answer.status, 200)
      assert.deepInclude(answer.json, { total: 4, succeeded: 2, failed: 2 })
      const [a, b, fail, five] = answer.json.results
      assert.deepInclude(a, { status: "ok", query: "a", geo: "de", locale: "de-de", page: 1 })
      assert.deepInclude(b, { status: "ok", query: "b", geo: "fr" })
      assert.lengthOf(b.results.organic, 1)
      assert.deepInclude(fail, { status: "error", error: "upstream_error" })
      assert.deepInclude(five, { status: "error", error: "invalid_request" })
      assert.sameMembers(Object.keys(five), ["status", "error", "message"])
      assert.strictEqual(answer.headers.get("x-credits-used"), "3")
      assert.deepStrictEqual(TestApi.apiHeaders(answer), names(rateLimitHeaders, quotaHeaders))
      assert.strictEqual(answer.headers.get("x-ratelimit-remaining"), "299")
      assert.deepStrictEqual(yield* spent(caller), { used: 3, logged: 3 })
    }).pipe(Effect.provide(services(providers)))
  )

  const row = (fields: object) => ({ queries: [{ query: "a", ...fields }] })
  const badBodies: ReadonlyArray<readonly [string, string, ReadonlyArray<string>]> = [
    ["malformed JSON", "{", [""]],
    ["an empty body", "", [""]],
    ["null", "null", [""]],
    ["a list", "[]", [""]],
    ["a string", '"a"', [""]],
    ["no queries", "{}", ["queries"]],
    ["0 rows", '{"queries":[]}', ["queries"]],
    ["51 rows", JSON.stringify({ queries: Array(51).fill("a") }), ["queries"]],
    ["queries an object", '{"queries":{"0":"a"}}', ["queries"]],
    ["queries a string", '{"queries":"a"}', ["queries"]],
    ["a wrong target and locale", '{"queries":["a"],"target":"x","locale":"english"}', ["target", "locale"]],
    ["geo and source no strings", '{"queries":["a"],"geo":1,"source":[]}', ["geo", "source"]],
    ["num as a string", '{"queries":["a"],"num":"5"}', ["num"]],
    ["num above 20", '{"queries":["a"],"num":21}', ["num"]],
    ["num null beside a wrong target", '{"queries":["a"],"target":"x","num":null}', ["target", "num"]],
    ["nesting 10,000 deep", "[".repeat(10_000) + "]".repeat(10_000), [""]]
  ]
  for (const [name, body, fields] of badBodies) {
    it.effect(`R16, R17: ${name} is 400 invalid_request; nothing runs`, () =>
      Effect.gen(function* () {
        const caller = yield* growth
        const answer = yield* post(caller, body)
        assertEnvelope(answer, 400, "invalid_request", "issues")
        assert.deepStrictEqual(
          answer.json.issues.map((issue: { readonly field: string }) => issue.field),
          fields
        )
        assert.deepStrictEqual(yield* spent(caller), { used: 0, logged: 0 })
      }).pipe(Effect.provide(services(providers)))
    )
  }

  it.effect("R3: another content type is 400 on the whole body", () =>
    Effect.gen(function* () {
      for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonp"]) {
        const answer = yield* post(yield* growth, '{"queries":["a"]}', type)
        assertEnvelope(answer, 400, "invalid_request", "issues")
        assert.strictEqual(answer.json.issues[0].field, "")
      }
      assert.strictEqual(
        (yield* post(yield* growth, '{"queries":["a"]}', "Application/JSON; charset=utf-8")).status,
        200
      )
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("R3: a missing content type is 400 for the whole body, and so is a missing body", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      // A text would be given a content type; bytes are not.
      const bodies = [new TextEncoder().encode('{"queries":["a"]}'), new Uint8Array(0), null]
      for (const body of bodies) {
        const caller = yield* growth
        const answer = yield* api.send("POST", "/v1/bulk", { body, headers: caller.auth })
        assertEnvelope(answer, 400, "invalid_request", "issues")
        assert.deepStrictEqual(
          answer.json.issues.map(({ field }: { readonly field: string }) => field),
          [""]
        )
        assert.deepStrictEqual(yield* spent(caller), { used: 0, logged: 0 })
      }
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("R17: num of the body is the default for every row", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const queries = ["a", { query: "b" }, { query: "c", num: 1 }, { query: "d", num: 12, target: "delta_search" }]
      const answer = yield* post(caller, JSON.stringify({ queries, num: 2 }))
      assert.deepStrictEqual(
        answer.json.results.map(
          (row: { readonly error?: string; readonly results?: { readonly organic: ReadonlyArray<unknown> } }) =>
            row.error ?? row.results?.organic.length
        ),
        [2, 2, 1, "unsupported_parameter"]
      )
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("R3: a body over 1 MiB is 400 on the whole body", () =>
    Effect.gen(function* () {
      const answer = yield* post(yield* growth, JSON.stringify({ queries: ["a"], padding: "x".repeat(1 << 20) }))
      assertEnvelope(answer, 400, "invalid_request", "issues")
      assert.strictEqual(answer.json.issues[0].field, "")
    }).pipe(Effect.provide(services(providers)))
  )

  const rows: ReadonlyArray<readonly [string, unknown, string]> = [
    ["R5: num as a string", row({ num: "5" }), "invalid_request"],
    ["R5: num with a fraction", row({ num: 1.5 }), "invalid_request"],
    ["num above 20", row({ num: 21 }), "invalid_request"],
    ["num 11 where the target serves 10", row({ num: 11, target: "delta_search" }), "unsupported_parameter"],
    ["R16: an unsupported geo of the body", { queries: ["a"], geo: "zz" }, "unsupported_geo"],
    ["an unsupported geo of the row", row({ geo: "" }), "unsupported_geo"],
    ["R17: page 2", row({ page: 2 }), "unsupported_parameter"],
    ["R17: page as a string", row({ page: "1" }), "unsupported_parameter"],
    ["R17: safe strict", row({ safe: "strict" }), "unsupported_parameter"],
    [
      "R17: num 11 of the body where the target serves 10",
      { queries: ["a"], num: 11, target: "delta_search" },
      "unsupported_parameter"
    ],
    ["R17: page 2 of the body", { queries: ["a"], page: 2 }, "unsupported_parameter"],
    ["R17: safe strict of the body", { queries: [{ query: "a" }], safe: "strict" }, "unsupported_parameter"],
    ["R17: page 2 of the body and page 1 of the row", { queries: [{ query: "a", page: 1 }], page: 2 }, "ok"],
    ["R17: page 1 and safe off", row({ page: 1, safe: "off" }), "ok"],
    ["R17: unknown fields", row({ foo: 1, results: [] }), "ok"],
    ["R6: geo is judged after plain validation", row({ geo: "zz", num: 0 }), "invalid_request"],
    ["R10: a lone surrogate", { queries: ["a\ud800"] }, "invalid_request"],
    ["R10: 401 characters", { queries: ["x".repeat(401)] }, "invalid_request"],
    ["a row that is null", { queries: [null] }, "invalid_request"],
    ["a row that is a list", { queries: [["a"]] }, "invalid_request"],
    ["a row without a query", { queries: [{ num: 3 }] }, "invalid_request"],
    ["a row that overrides the body's target", { queries: [{ query: "a", target: "beta_search" }] }, "ok"]
  ]
  for (const [name, body, code] of rows) {
    it.effect(`${name} is a row ${code}`, () =>
      Effect.gen(function* () {
        const caller = yield* growth
        const answer = yield* post(caller, JSON.stringify(body))
        assert.strictEqual(answer.status, 200)
        const [result] = answer.json.results
        assert.strictEqual(result.error ?? result.status, code)
        const charged = code === "ok" ? 1 : 0
        assert.strictEqual(answer.headers.get("x-credits-used"), String(charged))
        assert.deepStrictEqual(yield* spent(caller), { used: charged, logged: charged })
      }).pipe(Effect.provide(services(providers)))
    )
  }

  it.effect("duplicate keys: the last one counts, as JSON parsers do", () =>
    Effect.gen(function* () {
      const answer = yield* post(yield* growth, '{"queries":["a"],"queries":["b"]}')
      assert.strictEqual(answer.json.results[0].query, "b")
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("402: the batch is refused before any row runs, with true figures", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "custom", quota: 2 })
      const answer = yield* post(caller, '{"queries":["a","b","c"]}')
      assert.strictEqual(answer.status, 402)
      assert.deepInclude(answer.json, { remaining: 2, balance: 0, credits_used: 0, quota: 2 })
      assert.deepStrictEqual(TestApi.apiHeaders(answer), names(rateLimitHeaders, quotaHeaders))
      assert.deepStrictEqual(yield* spent(caller), { used: 0, logged: 0 })
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("the store failing at settle is 500, with nothing charged", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const answer = yield* post(caller, '{"queries":["a"]}')
      assertEnvelope(answer, 500, "internal_error")
    }).pipe(Effect.provide(services(providers, undefined, brokenSettle)))
  )
})

/** A ledger whose holds can be taken and not settled. */
const brokenSettle = Layer.effect(
  Ledger,
  Effect.map(Ledger, (ledger) => Ledger.of({ ...ledger, settle: () => Effect.die(new Error("database gone")) }))
)
