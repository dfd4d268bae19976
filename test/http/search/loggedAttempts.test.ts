import { assert, describe, it } from "@effect/vitest"
import { LoggedReason, PublicReason, toPublicReason } from "../../../src/domain/log/LogEntry.ts"
import { toLoggedQuery } from "../../../src/http/handlers/usage.ts"
import { logEntry } from "../../support/api/requests.ts"

const entry = {
  ...logEntry({ id: "qry_1", accountId: "acc_1" }),
  at: 0,
  provider: "meta",
  refusals: [
    { provider: "brave", reason: "quota", ms: 12 },
    { provider: "search.example.org", reason: "timeout", ms: 3_000 },
    { provider: "serper", reason: "merged", ms: 40, only: 2 }
  ]
} as const

describe("R64: a log entry on the wire", () => {
  it("tells its attempts, without names of hosts and the state of the operator's accounts", () => {
    const { attempts, provider } = toLoggedQuery(entry, true)
    assert.strictEqual(provider, "meta")
    assert.deepStrictEqual(attempts, [
      { provider: "brave", reason: "unavailable", ms: 12 },
      { provider: null, reason: "timeout", ms: 3_000 },
      { provider: "serper", reason: "merged", ms: 40, only: 2 }
    ])
  })

  it("names no provider where SERVER_TIMING is off, and none for an answer of the cache", () => {
    const { attempts, provider } = toLoggedQuery(entry, false)
    assert.deepStrictEqual([provider, ...attempts.map((attempt) => attempt.provider)], [null, null, null, null])
    assert.isNull(toLoggedQuery({ ...entry, cached: true }, true).provider)
  })

  it("has a public form of every reason", () => {
    for (const reason of LoggedReason.literals) assert.include(PublicReason.literals, toPublicReason(reason))
  })
})
