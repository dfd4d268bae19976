import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { burnDown, dayMs, forecast } from "../../../src/dashboard/credits/figures.ts"
import { describeUserAgent } from "../../../src/domain/accounts/userAgent.ts"

const begin = Date.parse("2026-03-01T00:00:00Z")
const reset = Date.parse("2026-04-01T00:00:00Z")
const outcomes = { ok: 0, upstream_error: 0, upstream_timeout: 0, page_unreadable: 0 }

/** The usage of a period in which these credits were charged, one figure for each day. */
const usageOf = (quota: number, daily: ReadonlyArray<number>, packs = 0) => {
  const credits = daily.reduce((all, one) => all + one, 0)
  const used = Math.min(quota, Math.max(0, credits - packs))
  const iso = (at: number) => new Date(at).toISOString()
  return {
    plan: "starter",
    plan_name: "A plan",
    period: { start: iso(begin), end: iso(reset) },
    quota,
    used,
    remaining: quota - used,
    balance: 0,
    resets_at: iso(reset),
    from: iso(begin),
    to: iso(reset),
    granularity: "day" as const,
    group_by: null,
    totals: { searches: credits, credits, outcomes },
    series: daily.map((credits, day) => ({
      start: iso(begin + day * dayMs),
      group: null,
      searches: credits,
      credits,
      outcomes
    }))
  }
}

const days = fc.array(fc.nat(500), { minLength: 1, maxLength: 30 })

describe("the burn-down", () => {
  it("begins with the quota, never rises, is never below what is left, and ends with that", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9_000 }), days, fc.nat(2_000), (quota, daily, packs) => {
        const usage = usageOf(quota, daily, packs)
        const points = burnDown(usage, begin + daily.length * dayMs)
        assert.strictEqual(points[0], quota)
        assert.strictEqual(points.at(-1), usage.remaining)
        for (const [index, left] of points.entries()) {
          assert.isAtLeast(left, usage.remaining)
          assert.isAtLeast(points[index - 1] ?? left, left)
        }
      })
    )
  })
})

describe("the forecast", () => {
  it("says when the quota ends, before the reset, or what is left of it then", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9_000 }), days, (quota, daily) => {
        const now = begin + daily.length * dayMs
        const usage = usageOf(quota, daily)
        const result = forecast(usage, now)
        if (usage.used === 0) return assert.isUndefined(result)
        if (result?._tag === "runsOut") assert.isTrue(result.at >= now && result.at < reset)
        else assert.isTrue(result !== undefined && result.left >= 0 && result.left <= usage.remaining)
      })
    )
  })

  it("says nothing in the first day of a period", () => {
    assert.isUndefined(forecast(usageOf(100, [50]), begin + dayMs / 2))
  })
})

describe("the name of a browser", () => {
  it.each([
    [
      "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36",
      "Chrome on Linux"
    ],
    ["Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/130.0 Safari/537.36 Edg/130.0", "Edge on Windows"],
    ["Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1", "Safari on iPhone"],
    ["Mozilla/5.0 (Macintosh; Intel Mac OS X 14.7; rv:132.0) Gecko/20100101 Firefox/132.0", "Firefox on macOS"],
    ["curl/8.5.0", "curl"],
    ["something else", "Unknown browser"]
  ])("%s", (text, name) => assert.strictEqual(describeUserAgent(text), name))

  it("none at all", () => assert.strictEqual(describeUserAgent(null), "Unknown browser"))
})
