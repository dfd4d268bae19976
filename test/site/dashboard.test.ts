import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { PlanChoice } from "../../src/services/accounts/Accounts.ts"
import { Ledger } from "../../src/services/credits/Ledger.ts"
import { SignedIn } from "../../src/testing/SessionsMemory.ts"
import { aSubscriber } from "../support/accounts/payments.ts"
import { aCaller, demoOrigin, found, marketplaceSecret, providing, services } from "../support/api/Services.ts"
import * as TestApi from "../support/api/TestApi.ts"
import { startingAt } from "../support/Time.ts"

const layer = services(providing(() => Effect.succeed(found(3))))

/** A signed-in person with a key. */
const aPerson = Effect.fnUntraced(function* (choice: PlanChoice) {
  const api = yield* TestApi.make
  const caller = yield* aCaller(choice)
  const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(caller.account))
  const headers = {
    cookie,
    origin: "http://quarry.test",
    "content-type": "application/json",
    "x-quarry-dashboard": "1"
  }
  const send = (method: string, path: string, body?: unknown) =>
    api.send(method, path, body === undefined ? { headers } : { headers, body: JSON.stringify(body) })
  const search = (query: string) => api.get(`/v1/query?query=${query}`, caller.auth)
  return { ...caller, api, cookie, send, get: (path: string) => send("GET", path), search }
})

/** Days without a search, which a response lists too. */
const idleDays = (from: string, days: number) =>
  Array.from({ length: days }, (_, day) => ({
    start: new Date(Date.parse(from) + day * 86_400_000).toISOString(),
    group: null,
    searches: 0,
    credits: 0,
    outcomes: { ok: 0, upstream_error: 0, upstream_timeout: 0, page_unreadable: 0 }
  }))

const hours = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, hour) => [new Date(Date.UTC(2026, 2, 11, from + hour)).toISOString(), null, 0])

describe("GET /v1/usage", () => {
  it.effect("says what the quota is, what was used of it, and when", () =>
    Effect.gen(function* () {
      const person = yield* aPerson({ plan: "starter" })
      yield* Effect.flatMap(Ledger, (ledger) => ledger.grant(person.account.id, 10, "for a test"))
      yield* person.search("a")
      yield* TestClock.adjust("1 day")
      yield* person.search("b")
      yield* person.search("c&target=beta_search")
      const answer = yield* person.get("/v1/usage")
      const outcomes = { ok: 3, upstream_error: 0, upstream_timeout: 0, page_unreadable: 0 }
      assert.deepStrictEqual(answer.json, {
        plan: "starter",
        plan_name: "Starter",
        period: { start: "2026-03-01T00:00:00.000Z", end: "2026-04-01T00:00:00.000Z" },
        quota: 5000,
        used: 3,
        remaining: 4997,
        balance: 10,
        resets_at: "2026-04-01T00:00:00.000Z",
        from: "2026-03-01T00:00:00.000Z",
        to: "2026-03-11T13:00:00.000Z",
        granularity: "day",
        group_by: null,
        totals: { searches: 3, credits: 3, outcomes },
        series: [
          ...idleDays("2026-03-01T00:00:00.000Z", 9),
          {
            start: "2026-03-10T00:00:00.000Z",
            group: null,
            searches: 1,
            credits: 1,
            outcomes: { ...outcomes, ok: 1 }
          },
          {
            start: "2026-03-11T00:00:00.000Z",
            group: null,
            searches: 2,
            credits: 2,
            outcomes: { ...outcomes, ok: 2 }
          }
        ]
      })
      const grouped = yield* person.get("/v1/usage?granularity=hour&group_by=target&to=2026-03-12&from=2026-03-11")
      assert.deepStrictEqual(
        grouped.json.series.map((row: Record<string, unknown>) => [row.start, row.group, row.searches]),
        [
          ...hours(0, 12),
          ["2026-03-11T12:00:00.000Z", "alpha_search", 1],
          ["2026-03-11T12:00:00.000Z", "beta_search", 1],
          ...hours(13, 24)
        ]
      )
    }).pipe(Effect.provide(layer), startingAt("2026-03-10T12:30:00Z"))
  )

  it.effect("the trial has no period", () =>
    Effect.gen(function* () {
      const { json } = yield* (yield* aPerson({ plan: "trial" })).get("/v1/usage")
      assert.deepStrictEqual([json.period, json.resets_at, json.quota], [{ start: null, end: null }, null, 100])
    }).pipe(Effect.provide(layer))
  )
})

describe("GET /v1/query/history", () => {
  it.effect("shows entries as they were asked, page by page", () =>
    Effect.gen(function* () {
      const person = yield* aPerson({ plan: "starter" })
      const first = yield* person.search("first&geo=de&num=5&source=cron")
      const { id } = first.json
      yield* TestClock.adjust("1 second")
      yield* person.send("POST", "/v1/bulk", { queries: ["second", "third"] })
      const one = (yield* person.get("/v1/query/history?limit=2")).json
      assert.deepStrictEqual(one.queries.map((entry: Record<string, unknown>) => entry.query).sort(), [
        "second",
        "third"
      ])
      assert.match(one.queries[0].batch_id, /^bat_[0-9a-f]{32}$/)
      assert.deepStrictEqual(one.queries.map(({ row }: { readonly row: number }) => row).sort(), [0, 1])
      const two = (yield* person.get(`/v1/query/history?limit=2&cursor=${one.next_cursor}`)).json
      assert.isNull(two.next_cursor)
      const [key] = (yield* person.get("/v1/api-keys")).json.api_keys
      assert.deepStrictEqual(two.queries, [
        {
          id,
          kind: "search",
          host: null,
          reason: null,
          bytes: null,
          created_at: "2026-03-10T12:30:00.000Z",
          batch_id: null,
          key_id: key.id,
          target: "alpha_search",
          query: "first",
          geo: "de",
          locale: "de-de",
          page: 1,
          num: 5,
          safe: "off",
          options: null,
          source: "cron",
          status: "ok",
          credits: 1,
          cached: false,
          result_count: 3,
          duration_ms: 0,
          provider: "test",
          attempts: [],
          request_id: first.headers.get("x-request-id"),
          row: null
        }
      ])
      const recent = (yield* person.get("/v1/query/recent?limit=1")).json
      assert.deepStrictEqual(recent.queries, one.queries.slice(0, 1))
    }).pipe(Effect.provide(layer), startingAt("2026-03-10T12:30:00Z"))
  )
})

describe("/v1/api-keys", () => {
  it.effect("R3: a body without a content type is refused whole; rotating and revoking take none", () =>
    Effect.gen(function* () {
      const { api, cookie } = yield* aPerson({ plan: "trial" })
      const headers = { cookie, origin: "http://quarry.test" }
      // Bytes, because a text would be given a content type.
      const body = new TextEncoder().encode('{"name":"CI"}')
      const refused = yield* api.send("POST", "/v1/api-keys", { headers, body })
      assert.strictEqual(refused.status, 400)
      assert.deepStrictEqual(
        refused.json.issues.map(({ field }: { field: string }) => field),
        [""]
      )
      const { json } = yield* api.get("/v1/api-keys", headers)
      const rotated = yield* api.send("POST", `/v1/api-keys/${json.api_keys[0].id}/rotate`, { headers })
      assert.strictEqual(rotated.status, 200)
      assert.strictEqual((yield* api.send("DELETE", `/v1/api-keys/${rotated.json.id}`, { headers })).status, 204)
    }).pipe(Effect.provide(layer))
  )
})

describe("another account's ids", () => {
  /** The same for every request, so that responses can be compared byte for byte. */
  const requestId = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

  it.effect("respond as unknown ids do, byte for byte, to every credential", () =>
    Effect.gen(function* () {
      const person = yield* aPerson({ plan: "growth" })
      const other = yield* aPerson({ plan: "growth" })
      const { batch_id } = (yield* other.send("POST", "/v1/bulk", { queries: ["theirs"] })).json
      const theirs = (yield* other.get("/v1/api-keys")).json.api_keys[0].id
      const cursor =
        (yield* other.search("theirs")).status === 200 ? yield* other.get("/v1/query/history?limit=1") : undefined
      const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(person.account))
      const credentials: ReadonlyArray<Record<string, string>> = [
        {},
        { cookie },
        { authorization: `Bearer ${person.secret}` },
        { "x-marketplace-proxy-secret": marketplaceSecret, "x-marketplace-user": "ada" },
        { "x-demo-origin": demoOrigin, "x-forwarded-for": "192.0.2.1" }
      ]
      yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.app(other.account))
      const theirSession = (yield* other.get("/v1/sessions")).json.sessions[0].id
      const theirApp = (yield* other.get("/v1/apps")).json.apps[0].id
      const missing = `key_${"0".repeat(32)}`
      const pairs: ReadonlyArray<readonly [string, string, string]> = [
        ["DELETE", `/v1/api-keys/${theirs}`, `/v1/api-keys/${missing}`],
        ["PATCH", `/v1/api-keys/${theirs}`, `/v1/api-keys/${missing}`],
        ["POST", `/v1/api-keys/${theirs}/rotate`, `/v1/api-keys/${missing}/rotate`],
        ["DELETE", `/v1/sessions/${theirSession}`, "/v1/sessions/nothing"],
        ["DELETE", `/v1/apps/${theirApp}`, "/v1/apps/nothing"],
        ["GET", `/v1/query/history?key=${theirs}`, `/v1/query/history?key=${missing}`],
        ["GET", `/v1/query/history?id=${cursor?.json.queries[0].id}`, `/v1/query/history?id=qry_${"0".repeat(32)}`],
        ["GET", `/v1/query/history?batch=${batch_id}`, `/v1/query/history?batch=bat_${"0".repeat(32)}`],
        ["GET", `/v1/query/history?cursor=${cursor?.json.next_cursor}`, "/v1/query/history"],
        ["GET", `/v1/usage?group_by=key&key=${theirs}`, `/v1/usage?group_by=key&key=${missing}`]
      ]
      const shown = (answer: TestApi.Answer) => {
        const varying = ["ratelimit", "x-ratelimit-remaining", "x-ratelimit-reset"]
        const headers = [...answer.headers].filter(([name]) => !varying.includes(name))
        return { status: answer.status, text: answer.text, headers }
      }
      for (const headers of credentials) {
        for (const [method, known, unknown] of pairs) {
          const json = { "content-type": "application/json" }
          const init = {
            headers: {
              origin: "http://quarry.test",
              "x-request-id": requestId,
              ...headers,
              ...(method === "PATCH" && json)
            },
            ...(method === "PATCH" && { body: "{}" })
          }
          const answer = shown(yield* person.api.send(method, known, init))
          assert.deepStrictEqual(answer, shown(yield* person.api.send(method, unknown, init)), `${method} ${known}`)
          if (method !== "GET") assert.strictEqual(answer.status, "cookie" in headers ? 404 : 401)
        }
      }
      assert.strictEqual((yield* other.search("again")).status, 200, "their key is as it was")
      assert.lengthOf((yield* other.get("/v1/sessions")).json.sessions, 1)
      assert.lengthOf((yield* other.get("/v1/apps")).json.apps, 1)
    }).pipe(Effect.provide(layer), startingAt("2026-03-10T12:30:00Z"))
  )
})

describe("a person's data", () => {
  it.effect("is exported whole, however long the log", () =>
    Effect.gen(function* () {
      const person = yield* aPerson({ plan: "growth" })
      for (let n = 0; n < 42; n++) {
        yield* person.send("POST", "/v1/bulk", { queries: Array.from({ length: 50 }, (_, i) => `query ${n} ${i}`) })
      }
      const answer = yield* person.get("/v1/account/export")
      assert.strictEqual(answer.headers.get("content-type"), "application/json")
      const { account, api_keys, queries } = answer.json
      assert.deepInclude(account, { id: person.account.id, email: person.account.email, plan: "growth", used: 2100 })
      assert.strictEqual(api_keys.length, 1)
      assert.strictEqual(new Set(queries.map((entry: { id: string }) => entry.id)).size, 2100)
      assert.notInclude(answer.text, person.secret)
    }).pipe(Effect.provide(layer))
  )

  it.effect("is exported with its payments", () =>
    Effect.gen(function* () {
      const person = yield* aPerson({ plan: "trial" })
      yield* aSubscriber(person.account)
      const { json } = yield* person.get("/v1/account/export")
      const customer_id = `customer-of-${person.account.id}`
      assert.deepInclude(json.account, { plan: "growth", balance: 0, owed: 5_000, customer_id })
      assert.deepStrictEqual(json.subscriptions, [
        {
          id: "sub-1",
          plan: "growth",
          status: "active",
          started_at: "2026-03-01T00:00:00.000Z",
          current_period_start: "2026-03-01T00:00:00.000Z",
          current_period_end: "2026-04-01T00:00:00.000Z",
          cancel_at_period_end: true
        }
      ])
      assert.deepStrictEqual(json.orders, [
        {
          id: "order-1",
          kind: "pack",
          status: "paid",
          created_at: "2026-03-01T00:00:00.000Z",
          net: 800,
          refunded: 400,
          credits_granted: 10_000,
          credits_taken_back: 5_000,
          dispute_lost: false
        }
      ])
    }).pipe(Effect.provide(layer), startingAt("2026-03-10T12:30:00Z"))
  )

  it.effect("an empty account exports too", () =>
    Effect.gen(function* () {
      const { json } = yield* (yield* aPerson({ plan: "trial" })).get("/v1/account/export")
      assert.deepStrictEqual([json.queries, json.subscriptions, json.orders], [[], [], []])
      assert.deepInclude(json.account, { owed: 0, customer_id: null })
    }).pipe(Effect.provide(layer))
  )

  it.effect("is gone with the account: cookies, keys and sessions stop working within 10 seconds", () =>
    Effect.gen(function* () {
      const person = yield* aPerson({ plan: "trial" })
      const second = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(person.account))
      yield* person.search("a")
      assert.strictEqual((yield* person.send("DELETE", "/v1/account")).status, 204)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* person.get("/v1/me")).status, 401)
      assert.strictEqual((yield* person.api.get("/v1/me", { cookie: second })).status, 401)
      assert.strictEqual((yield* person.search("a")).status, 401)
      assert.strictEqual((yield* person.send("DELETE", "/v1/account")).status, 401)
    }).pipe(Effect.provide(layer))
  )
})
