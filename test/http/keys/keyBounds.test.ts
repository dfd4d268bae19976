import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { SignedIn } from "../../../src/testing/SessionsMemory.ts"
import * as Mcp from "../../support/api/Mcp.ts"
import { aCaller, found, providing, services } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"

const layer = services(providing(() => Effect.succeed(found(3))))

/** A person with a key, made with these bounds, and its requests from an address. */
const aHolder = Effect.fnUntraced(function* (bounds: object = {}) {
  const api = yield* TestApi.make
  const { account } = yield* aCaller({ plan: "starter" })
  const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(account))
  const headers = { cookie, origin: "http://quarry.test", "content-type": "application/json" }
  const manage = (method: string, path: string, body?: unknown) =>
    api.send(method, path, body === undefined ? { headers } : { headers, body: JSON.stringify(body) })
  const created = yield* manage("POST", "/v1/api-keys", { name: "handed out", ...bounds })
  assert.strictEqual(created.status, 201, created.text)
  const { id, secret } = created.json
  const auth = (address = "203.0.113.7") => ({ authorization: `Bearer ${secret}`, "x-forwarded-for": address })
  const json = { ...auth(), "content-type": "application/json" }
  return {
    api,
    id,
    auth: auth(),
    created: created.json,
    manage,
    change: (body: unknown) => manage("PATCH", `/v1/api-keys/${id}`, body),
    search: (query = "q", extra = {}) => api.get(`/v1/query?query=${query}`, { ...auth(), ...extra }),
    searchFrom: (address: string) => api.get("/v1/query?query=q", auth(address)),
    batch: (queries: ReadonlyArray<unknown>, extra = {}) =>
      api.send("POST", "/v1/bulk", { headers: { ...json, ...extra }, body: JSON.stringify({ queries }) }),
    shown: Effect.map(manage("GET", "/v1/api-keys"), (answer) =>
      answer.json.api_keys.find((key: { id: string }) => key.id === id)
    )
  }
})

const bounds = {
  expires_at: "2026-03-11T00:00:00.000Z",
  budget: { credits: 3, period: "day" },
  targets: ["alpha_search", "beta_search"],
  networks: ["203.0.113.0/24"]
}

describe("R50: a key with bounds", () => {
  it.effect("R50: shows what it was given, and what is spent of its budget", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-03-10T12:00:00Z"))
      const holder = yield* aHolder(bounds)
      const budget = { ...bounds.budget, spent: 0, resets_at: "2026-03-11T00:00:00.000Z" }
      assert.deepInclude(holder.created, { ...bounds, budget })
      yield* holder.search()
      assert.deepInclude(yield* holder.shown, { ...bounds, budget: { ...budget, spent: 1 } })
      const changed = yield* holder.change({ budget: { credits: 9, period: "life" }, targets: null })
      assert.strictEqual(changed.status, 200)
      const life = { credits: 9, period: "life", spent: 0, resets_at: null }
      assert.deepInclude(changed.json, { ...bounds, targets: null, budget: life })
      assert.notProperty(changed.json, "secret")
      assert.deepStrictEqual(Object.keys((yield* holder.api.get("/v1/me", holder.auth)).json.api_key), [
        "id",
        "label",
        "mode"
      ])
    }).pipe(Effect.provide(layer))
  )

  it.effect("R50: a spent budget is quota_exceeded with the account's figures; a whole batch fits or does not", () =>
    Effect.gen(function* () {
      const holder = yield* aHolder({ budget: { credits: 3, period: "life" } })
      const tooLarge = yield* holder.batch(["a", "b", "c", "d"])
      assert.strictEqual(tooLarge.status, 402)
      assert.deepInclude(tooLarge.json, { error: "quota_exceeded", plan: "starter", credits_used: 0 })
      assert.include(tooLarge.json.message, "this API key's budget (3 credits in total) has 3 left")
      assert.strictEqual(tooLarge.headers.get("x-quota-remaining"), "5000")
      const lines = { accept: "application/x-ndjson" }
      assert.strictEqual((yield* holder.batch(["a", "b", "c", "d"], lines)).status, 402)
      const first = yield* holder.search("a", { "idempotency-key": "k" })
      assert.strictEqual((yield* holder.batch(["a", "b", ""], lines)).status, 200)
      assert.strictEqual((yield* holder.shown).budget.spent, 3)
      assert.strictEqual((yield* holder.search()).status, 402)
      const replayed = yield* holder.search("a", { "idempotency-key": "k" })
      assert.deepStrictEqual([replayed.status, replayed.text], [200, first.text])
      assert.strictEqual((yield* holder.search("b", { "idempotency-key": "l" })).status, 402)
      assert.strictEqual((yield* holder.batch([""])).status, 200)
    }).pipe(Effect.provide(layer))
  )

  it.effect(
    "R50: a target that it may not use is unsupported_parameter, row by row in a batch, and costs nothing",
    () =>
      Effect.gen(function* () {
        const holder = yield* aHolder({ targets: ["beta_search"], budget: { credits: 9, period: "day" } })
        for (const extra of [{}, { "idempotency-key": "k" }]) {
          const refused = yield* holder.search("q", extra)
          assert.strictEqual(refused.status, 400)
          assert.strictEqual(refused.json.error, "unsupported_parameter")
          assert.include(refused.json.message, "cannot use the target alpha_search. Allowed targets: beta_search.")
        }
        assert.strictEqual((yield* holder.search("q&target=beta_search")).status, 200)
        const rows = ["a", { query: "b", target: "beta_search" }]
        const { json } = yield* holder.batch(rows)
        assert.deepInclude(json, { succeeded: 1, failed: 1 })
        assert.deepInclude(json.results[0], { status: "error", error: "unsupported_parameter" })
        const streamed = yield* holder.batch(rows, { accept: "application/x-ndjson" })
        assert.include(streamed.text, "unsupported_parameter")
        assert.strictEqual((yield* holder.shown).budget.spent, 3)
      }).pipe(Effect.provide(layer))
  )

  it.effect("R24, R50: from an address outside its networks it is unknown, and inside them it is not", () =>
    Effect.gen(function* () {
      const holder = yield* aHolder({ networks: ["203.0.113.0/24", "2001:db8::/32"] })
      const inside = ["203.0.113.0", "203.0.113.255", "::ffff:203.0.113.9", "2001:db8:ffff::1", "1.1.1.1, 203.0.113.4"]
      for (const address of inside) assert.strictEqual((yield* holder.searchFrom(address)).status, 200, address)
      const unknown = yield* holder.api.get("/v1/query?query=q", { authorization: "Bearer sk_live_unknown" })
      for (const address of ["203.0.114.0", "2001:db9::1", "::1", "203.0.113.4, 1.1.1.1", "unknown", ""]) {
        const answer = yield* holder.searchFrom(address)
        assert.strictEqual(answer.status, 401, address)
        assert.strictEqual(answer.json.message, unknown.json.message)
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("R50: on /mcp the same bounds hold", () =>
    Effect.gen(function* () {
      const holder = yield* aHolder({ targets: ["beta_search"], budget: { credits: 2, period: "day" } })
      const call = (name: string, args: object) => Mcp.callTool(holder.api, holder.auth, name, args)
      const errorOf = (result: { _meta: unknown }) => JSON.stringify(result._meta)
      assert.include(errorOf(yield* call("web_search", { query: "a" })), "unsupported_parameter")
      assert.isNotTrue((yield* call("web_search", { query: "a", target: "beta_search" })).isError)
      const batch = { queries: ["a", { query: "b", target: "beta_search" }] }
      assert.deepInclude((yield* call("bulk_search", batch)).structuredContent, { succeeded: 1, failed: 1 })
      const spent = errorOf(yield* call("web_search", { query: "c", target: "beta_search" }))
      assert.include(spent, "quota_exceeded")
      assert.include(spent, "this API key's budget")
      yield* holder.change({ networks: ["10.0.0.0/8"] })
      assert.strictEqual((yield* Mcp.post(holder.api, holder.auth, Mcp.toolCall("web_search", {}))).status, 401)
    }).pipe(Effect.provide(layer))
  )

  it.effect("R50: bounds that are wrong are answered with every failure", () =>
    Effect.gen(function* () {
      const holder = yield* aHolder()
      const refused = yield* holder.change({
        expires_at: "soon",
        budget: { credits: 0, period: "year" },
        targets: ["google"],
        networks: ["10.0.0.0/8", "10.0.0.1/8"]
      })
      assert.deepStrictEqual(
        refused.json.issues.map(({ field }: { field: string }) => field),
        ["expires_at", "budget.credits", "budget.period", "targets.0", "networks.1"]
      )
      for (const body of [{ budget: 5 }, { targets: [] }, { networks: "10.0.0.0/8" }, [], "x"]) {
        assert.strictEqual((yield* holder.change(body)).status, 400, JSON.stringify(body))
      }
      assert.deepInclude(yield* holder.shown, { expires_at: null, budget: null, targets: null, networks: null })
    }).pipe(Effect.provide(layer))
  )
})

describe("R51: a rotation with a grace", () => {
  it.effect("R51: a grace is 0 to 86,400 whole seconds", () =>
    Effect.gen(function* () {
      const holder = yield* aHolder()
      for (const grace_seconds of [-1, 86_401, 0.5, "60", null]) {
        const refused = yield* holder.manage("POST", `/v1/api-keys/${holder.id}/rotate`, { grace_seconds })
        assert.deepStrictEqual([refused.status, refused.json.issues[0].field], [400, "grace_seconds"])
      }
      assert.strictEqual((yield* holder.search()).status, 200)
    }).pipe(Effect.provide(layer))
  )
})
