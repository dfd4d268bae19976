import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { dashboardHeader } from "../../../src/domain/accounts/CallingPage.ts"
import { memberIdOf } from "../../../src/testing/MembersMemory.ts"
import { SignedIn } from "../../../src/testing/SessionsMemory.ts"
import { aCaller, found, providing, services } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"

const layer = services(providing(() => Effect.succeed(found(3))))

/** An owner who is limited too, and a key that the owner created. */
const anOwner = Effect.gen(function* () {
  const api = yield* TestApi.make
  const { account } = yield* aCaller({ plan: "starter" })
  const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(account))
  const headers = { cookie, origin: "http://quarry.test", [dashboardHeader]: "1", "content-type": "application/json" }
  const manage = (method: string, path: string, body?: unknown) =>
    api.send(method, path, body === undefined ? { headers } : { headers, body: JSON.stringify(body) })
  const created = yield* manage("POST", "/v1/api-keys", { name: "mine" })
  const search = (query = "q", target = "alpha_search") =>
    api.get(`/v1/query?query=${query}&target=${target}`, { authorization: `Bearer ${created.json.secret}` })
  const id = memberIdOf(account.id)
  return {
    change: (body: unknown) => manage("PATCH", `/v1/members/${id}`, body),
    member: Effect.map(manage("GET", "/v1/members"), ({ json }) => json.members[0]),
    exported: Effect.map(manage("GET", "/v1/account/export"), ({ json }) => json.members),
    search,
    searchInDashboard: (query = "q") => manage("GET", `/v1/query?query=${query}`)
  }
})

describe("R67: the bounds of a member", () => {
  it.effect("R67: limit keys and sessions together, and the record shows what was spent", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-03-10T12:00:00Z"))
      const owner = yield* anOwner
      assert.deepInclude(yield* owner.member, { targets: null, budget: null })
      const budget = { credits: 2, period: "month", resets_at: "2026-04-01T00:00:00.000Z" }
      const changed = yield* owner.change({ budget: { credits: 2, period: "month" } })
      assert.deepInclude(changed.json, { role: "owner", targets: null, budget: { ...budget, spent: 0 } })
      assert.strictEqual((yield* owner.search("a")).status, 200)
      assert.strictEqual((yield* owner.searchInDashboard("b")).status, 200)
      for (const refused of [yield* owner.search("c"), yield* owner.searchInDashboard("d")]) {
        assert.strictEqual(refused.status, 402)
        assert.strictEqual(refused.json.error, "quota_exceeded")
        assert.include(refused.json.message, "this member's budget (2 credits each UTC month) has 0 left")
      }
      assert.deepInclude(yield* owner.member, { budget: { ...budget, spent: 2 } })
      assert.deepStrictEqual(yield* owner.exported, [yield* owner.member])
      assert.deepInclude((yield* owner.change({ budget: null })).json, { budget: null })
      assert.strictEqual((yield* owner.search("c")).status, 200)
    }).pipe(Effect.provide(layer))
  )

  it.effect("R67: allow only the given targets", () =>
    Effect.gen(function* () {
      const owner = yield* anOwner
      const changed = yield* owner.change({ targets: ["gamma_search", "beta_search"] })
      assert.deepInclude(changed.json, { targets: ["beta_search", "gamma_search"] })
      const refused = yield* owner.search()
      assert.deepInclude(refused.json, { error: "unsupported_parameter" })
      assert.include(refused.json.message, "This API key cannot use the target alpha_search.")
      const inDashboard = yield* owner.searchInDashboard()
      assert.include(inDashboard.json.message, "This member cannot use the target alpha_search.")
      assert.strictEqual((yield* owner.search("q", "beta_search")).status, 200)
      yield* owner.change({ targets: null })
      assert.strictEqual((yield* owner.search()).status, 200)
    }).pipe(Effect.provide(layer))
  )

  it.effect.each([
    [{ budget: { credits: 5, period: "day" } }, "budget.period", "must be month"],
    [{ budget: { credits: 0, period: "month" } }, "budget.credits", "must be a whole number from 1 to 1000000000"],
    [{ budget: { period: "month" } }, "budget.credits", "is required"],
    [{ budget: 5 }, "budget", "must be an object with credits and period, or null"],
    [{ targets: [] }, "targets", "must be a list of 1 to 7 targets, or null"]
  ])("R67: %j is refused, as it would be for a key", ([body, field, message]) =>
    Effect.gen(function* () {
      const owner = yield* anOwner
      const refused = yield* owner.change(body)
      assert.strictEqual(refused.status, 400)
      assert.deepStrictEqual(refused.json.issues, [{ field, message }])
    }).pipe(Effect.provide(layer))
  )
})
