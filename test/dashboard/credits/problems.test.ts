import { assert, describe, it } from "@effect/vitest"
import { linesOf } from "../../../src/dashboard/credits/axis.ts"
import { changeOf, percentile, previousRange } from "../../../src/dashboard/credits/comparison.ts"
import { type Facts, problemsOf } from "../../../src/dashboard/credits/problems.ts"

const now = Date.parse("2026-03-10T12:00:00Z")

const outcomes = { ok: 0, upstream_error: 0, upstream_timeout: 0, page_unreadable: 0 }
const totals = { searches: 0, credits: 0, outcomes }

const usage = (fields: Partial<NonNullable<Facts["usage"]>>): NonNullable<Facts["usage"]> => ({
  plan: "starter",
  plan_name: "Starter",
  period: { start: "2026-03-01T00:00:00.000Z", end: "2026-04-01T00:00:00.000Z" },
  quota: 1_000,
  used: 0,
  remaining: 1_000,
  balance: 0,
  resets_at: "2026-04-01T00:00:00.000Z",
  from: "2026-03-01T00:00:00.000Z",
  to: "2026-03-10T12:00:00.000Z",
  granularity: "day",
  group_by: null,
  totals,
  series: [],
  ...fields
})

const key = (fields: Partial<Facts["keys"][number]>): Facts["keys"][number] => ({
  id: "key_1",
  name: "production",
  type: "live",
  hint: "sk_live_ab…cdef",
  created_at: "2026-01-01T00:00:00.000Z",
  created_by: null,
  last_used_at: null,
  revoked_at: null,
  expires_at: null,
  budget: null,
  networks: null,
  targets: null,
  ...fields
})

const facts = (fields: Partial<Facts>): Facts => ({
  usage: usage({}),
  today: usage({}),
  keys: [],
  webhooks: [],
  billing: undefined,
  ...fields
})

const tagsOf = (fields: Partial<Facts>) => problemsOf(facts(fields), now).map(({ _tag }) => _tag)

describe("the problems on Overview", () => {
  it("are none while all is well or nothing is known yet", () => {
    assert.deepStrictEqual(tagsOf({}), [])
    assert.deepStrictEqual(tagsOf({ usage: undefined, today: undefined }), [])
  })

  it("are credits below a tenth of the quota, and none at all", () => {
    assert.deepStrictEqual(tagsOf({ usage: usage({ remaining: 99 }) }), ["low"])
    assert.deepStrictEqual(tagsOf({ usage: usage({ remaining: 99, balance: 500 }) }), [])
    assert.deepStrictEqual(tagsOf({ usage: usage({ remaining: 0 }) }), ["exhausted"])
    assert.deepStrictEqual(tagsOf({ usage: usage({ quota: null, remaining: null }) }), [])
  })

  it("are more than 5 % failures of enough searches", () => {
    const today = (searches: number, failed: number) =>
      usage({ totals: { searches, credits: searches, outcomes: { ...outcomes, upstream_error: failed } } })
    assert.deepStrictEqual(tagsOf({ today: today(100, 6) }), ["failures"])
    assert.deepStrictEqual(tagsOf({ today: today(100, 5) }), [])
    assert.deepStrictEqual(tagsOf({ today: today(3, 3) }), [])
  })

  it("are keys that expire within a week, but not those that have expired or were revoked", () => {
    assert.deepStrictEqual(tagsOf({ keys: [key({ expires_at: "2026-03-12T00:00:00.000Z" })] }), ["expiring"])
    assert.deepStrictEqual(tagsOf({ keys: [key({ expires_at: "2026-03-30T00:00:00.000Z" })] }), [])
    assert.deepStrictEqual(tagsOf({ keys: [key({ expires_at: "2026-03-09T00:00:00.000Z" })] }), [])
    const revoked = key({ expires_at: "2026-03-12T00:00:00.000Z", revoked_at: "2026-03-01T00:00:00.000Z" })
    assert.deepStrictEqual(tagsOf({ keys: [revoked] }), [])
  })
})

describe("the figures of usage", () => {
  it("are compared with a range of the same length before", () => {
    assert.deepStrictEqual(previousRange("2026-03-08T00:00:00.000Z", "2026-03-10T00:00:00.000Z"), {
      from: "2026-03-06T00:00:00.000Z",
      to: "2026-03-08T00:00:00.000Z"
    })
    assert.strictEqual(changeOf(15, 10), 0.5)
    assert.isUndefined(changeOf(15, 0))
  })

  it("have percentiles that are values of the sample", () => {
    assert.isUndefined(percentile([], 0.5))
    assert.strictEqual(percentile([30, 10, 20], 0.5), 20)
    assert.strictEqual(
      percentile(
        Array.from({ length: 100 }, (_, index) => index + 1),
        0.95
      ),
      95
    )
  })

  it("have an axis that ends at the first line that is not below the highest bar", () => {
    for (const max of [1, 3, 9, 10, 11, 60, 61, 999, 10_010]) {
      const lines = linesOf(max)
      const last = lines.at(-1) ?? 0
      assert.isAtLeast(last, max)
      assert.isBelow(lines.at(-2) ?? 0, max)
      assert.isAtMost(lines.length, 6)
      if (max >= 9) assert.isBelow(last, max * 1.5)
    }
  })
})
