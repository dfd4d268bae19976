import { assert, describe, it } from "@effect/vitest"
import { defaultSource, type Principal, rateLimitOf } from "../../../src/domain/accounts/Principal.ts"

const principal = (id: string, mode: "live" | "test", concurrency: number): Principal => ({
  _tag: "key",
  account: {
    id: "acc_1",
    email: "ada@example.com",
    plan: "growth",
    quota: 75_000,
    concurrency,
    cycleStart: undefined,
    createdAt: 0,
    suspendedAt: undefined
  },
  key: { id, label: "main", mode }
})

describe("the rate limit of a key", () => {
  it("is 60 a minute for each unit of the account's concurrency", () => {
    for (const [concurrency, limit] of [
      [1, 60],
      [2, 120],
      [5, 300],
      [10, 600],
      [20, 1_200],
      [35, 2_100]
    ] as const) {
      assert.strictEqual(rateLimitOf(principal("key_1", "live", concurrency)).limit, limit)
    }
  })

  it("R26: of a test key is its plan's", () => {
    assert.strictEqual(rateLimitOf(principal("key_1", "test", 5)).limit, 300)
  })

  it("is counted per key, not per account", () => {
    const [first, second] = [principal("key_1", "live", 5), principal("key_2", "live", 5)]
    assert.notStrictEqual(rateLimitOf(first).credential, rateLimitOf(second).credential)
    assert.strictEqual(rateLimitOf(first).credential, rateLimitOf(principal("key_1", "live", 10)).credential)
  })
})

describe("R11: the default source", () => {
  it("of a key is api", () => {
    assert.strictEqual(defaultSource(principal("key_1", "live", 1)), "api")
    assert.strictEqual(defaultSource(principal("key_1", "test", 1)), "api")
  })
})

describe("an app that a person let in", () => {
  const of = (id: string): Principal => {
    const { account } = principal("key_1", "live", 5) as Extract<Principal, { readonly _tag: "key" }>
    return { _tag: "oauth", account: { ...account, id }, personId: "usr_1", scopes: ["search", "read"] }
  }

  it("is counted with all apps of its account, under the plan's figure", () => {
    assert.deepStrictEqual(rateLimitOf(of("acc_1")), { credential: "oauth:acc_1", limit: 300 })
  })

  it("R11: has the default source mcp", () => {
    assert.strictEqual(defaultSource(of("acc_1")), "mcp")
  })
})
