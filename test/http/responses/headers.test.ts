import { assert, describe, it } from "@effect/vitest"
import { quotaHeaders, rateLimitHeaders } from "../../../src/http/responses/headers.ts"

const before = {
  plan: "growth",
  quota: 75_000,
  used: 1_200,
  balance: 340,
  periodStart: 0,
  resetsAt: 1_767_225_600_001
} as const

describe("headers of a search", () => {
  it("R1, R30: show the allowance before the search, and the balance after it", () => {
    assert.deepStrictEqual(quotaHeaders({ creditsUsed: 3, before, balance: 337 }), {
      "x-credits-used": "3",
      "x-quota-limit": "75000",
      "x-quota-used": "1200",
      "x-quota-remaining": "73800",
      "x-quota-reset": "1767225601",
      "x-credits-balance": "337"
    })
    assert.include(quotaHeaders({ creditsUsed: 0, before, balance: 340, isReplay: true }), {
      "idempotent-replayed": "true",
      "x-credits-used": "0"
    })
  })

  it("R27, R45: show the rate limit, and when to retry only if the request was refused", () => {
    const admitted = {
      admitted: true,
      limit: 300,
      remaining: 299,
      resetAtSeconds: 1_767_225_660,
      retryAfterSeconds: 60
    }
    const headers = {
      "x-ratelimit-limit": "300",
      "x-ratelimit-remaining": "299",
      "x-ratelimit-reset": "1767225660",
      "ratelimit-policy": '"minute";q=300;w=60',
      ratelimit: '"minute";r=299;t=60'
    }
    assert.deepStrictEqual(rateLimitHeaders(admitted), headers)
    assert.deepStrictEqual(rateLimitHeaders({ ...admitted, admitted: false }), { ...headers, "retry-after": "60" })
  })
})
