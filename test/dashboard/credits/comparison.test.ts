import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { compareFailures, compareWithUsual, previousRange } from "../../../src/dashboard/credits/comparison.ts"
import { barCount, barsOf, daysOf, endOf, rangeOfBars, startOf } from "../../../src/dashboard/credits/usageFigures.ts"
import { costOf, recommended } from "../../../src/dashboard/purchase.ts"

const dayMs = 86_400_000
const now = Date.parse("2026-11-27T15:30:00Z")
const moment = fc.integer({ min: Date.UTC(2024, 0), max: Date.UTC(2027, 0) })
const granularity = fc.constantFrom("hour" as const, "day" as const, "month" as const)

const rowAt = (start: number, ok: number, failed = 0, group: string | null = null) => ({
  start: new Date(start).toISOString(),
  group,
  searches: ok + failed,
  credits: ok,
  outcomes: { ok, upstream_error: failed, upstream_timeout: 0, page_unreadable: 0 }
})

describe("the period before", () => {
  it("has as many bars, each at the same place, and ends in the same part of its last bar", () => {
    fc.assert(
      fc.property(moment, fc.integer({ min: 1, max: 400 * 3_600_000 }), granularity, (at, length, granularity) => {
        const from = startOf(at, granularity)
        const to = from + length
        const before = previousRange(new Date(from).toISOString(), new Date(to).toISOString(), granularity)
        const [start, end] = [Date.parse(before.from), Date.parse(before.to)]
        assert.strictEqual(start, startOf(start, granularity))
        assert.isAtMost(end, from)
        assert.isAtLeast(barCount(start, end, granularity), 1)
        if (granularity === "month") return
        assert.strictEqual(end - start, length)
        assert.strictEqual(barCount(start, end, granularity), barCount(from, to, granularity))
      })
    )
  })
})

describe("whether a figure is as usual", () => {
  const week = [100, 110, 95, 105, 100, 98, 102]

  it("is compared with the days before it, if there are enough of them", () => {
    assert.strictEqual(compareWithUsual(104, week), "usual")
    assert.strictEqual(compareWithUsual(160, week), "higher")
    assert.strictEqual(compareWithUsual(40, week), "lower")
    assert.strictEqual(compareWithUsual(160, week.slice(0, 2)), undefined)
    assert.strictEqual(compareWithUsual(160, [0, 0, 0, 0]), undefined)
  })

  it("never calls the mean of the days unusual", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 10_000 }), { minLength: 3, maxLength: 7 }), (days) => {
        const mean = days.reduce((all, value) => all + value, 0) / days.length
        assert.strictEqual(compareWithUsual(mean, days), "usual")
      })
    )
  })

  it("of failures needs searches, and more than a few points", () => {
    const days = { failed: 20, searches: 1_000 }
    assert.strictEqual(compareFailures({ failed: 3, searches: 100 }, days), "usual")
    assert.strictEqual(compareFailures({ failed: 9, searches: 100 }, days), "higher")
    assert.strictEqual(compareFailures({ failed: 9, searches: 19 }, days), undefined)
  })
})

describe("the bars", () => {
  const series = [rowAt(now - dayMs, 5, 1, "alpha_search"), rowAt(startOf(now, "day"), 2, 3, "beta_search")]

  it("mark the one whose time is not over, and can count one group", () => {
    const bars = barsOf({ granularity: "day", series }, undefined, now)
    assert.deepStrictEqual(
      bars.map(({ isUnfinished, values }) => [values, isUnfinished]),
      [
        [[5, 1], false],
        [[2, 3], true]
      ]
    )
    assert.deepStrictEqual(
      barsOf({ granularity: "day", series }, "alpha_search", now).map(({ values }) => values),
      [
        [5, 1],
        [0, 0]
      ]
    )
  })

  it("are ranges of the log, without an end where time is not over", () => {
    const bars = [0, 1].map((day) => ({ start: day * dayMs, end: (day + 1) * dayMs }))
    assert.deepStrictEqual(rangeOfBars(bars, 0, 1, 3 * dayMs), {
      from: "1970-01-01T00:00:00.000Z",
      to: "1970-01-03T00:00:00.000Z"
    })
    assert.strictEqual(rangeOfBars(bars, 1, 1, 1.5 * dayMs)?.to, undefined)
    assert.strictEqual(rangeOfBars(bars, 1, 2, 0), undefined)
  })

  it("end where the next begins", () => {
    fc.assert(
      fc.property(moment, granularity, (at, granularity) => {
        const start = startOf(at, granularity)
        const end = endOf(start, granularity)
        assert.isTrue(start <= at && at < end)
        assert.strictEqual(startOf(end, granularity), end)
      })
    )
  })

  it("of hours add up to days, and to what each day had by this time", () => {
    const start = startOf(now, "day") - dayMs
    const hours = [10, 15, 20].map((hour) => rowAt(start + hour * 3_600_000, 10, 2))
    const [day] = daysOf(hours, now)
    assert.deepStrictEqual(day, { start, searches: 36, failed: 6, credits: 30, soFar: 12 + 6 })
  })
})

describe("what a plan costs", () => {
  const offer = (plan: "starter" | "growth" | "business", price: number, requests: number) => ({
    plan,
    name: plan,
    price,
    requests,
    concurrency: 1,
    pack_rate: 80
  })
  const plans = [offer("starter", 900, 5_000), offer("growth", 4_900, 75_000), offer("business", 9_900, 200_000)]
  const subscription = {
    plan: "growth" as const,
    status: "active" as const,
    current_period_start: "2026-11-01T00:00:00.000Z",
    current_period_end: "2026-12-01T00:00:00.000Z",
    cancel_at_period_end: false,
    pending_plan: null,
    pending_at: null,
    past_due_since: null,
    grace_until: null
  }

  const packs = [
    { credits: 10_000, price: 800 },
    { credits: 50_000, price: 4_000 }
  ] as const
  const billing = { balance: 0, packs, plans, subscription }

  it("is its price, and whole packs for what the pace needs beyond it and the balance", () => {
    assert.deepStrictEqual(costOf(billing, 50_000, 0.5), {
      soFar: 4_900,
      forecast: 4_900 + 3 * 800,
      over: 25_000,
      bought: 30_000,
      next: { at: subscription.current_period_end, price: 4_900 }
    })
    const forecast = (changes: object, used: number, elapsed: number) =>
      costOf({ ...billing, ...changes }, used, elapsed).forecast
    assert.strictEqual(forecast({ balance: 15_000 }, 50_000, 0.5), 4_900 + 800)
    assert.strictEqual(forecast({ balance: 25_000 }, 50_000, 0.5), 4_900)
    assert.strictEqual(forecast({ packs: [] }, 50_000, 0.5), 4_900)
    assert.strictEqual(forecast({}, 500, 0.01), undefined)
    assert.strictEqual(forecast({ subscription: null }, 50_000, 0.5), 0)
  })

  it("is followed by an invoice for the pending plan, or by none after a cancellation", () => {
    const next = (changes: object) =>
      costOf({ ...billing, subscription: { ...subscription, ...changes } }, 0, 1).next?.price
    assert.strictEqual(next({ pending_plan: "starter" }), 900)
    assert.strictEqual(next({ cancel_at_period_end: true }), undefined)
  })

  it("leads to one recommended plan: the least above the own one, also if the operator gave it", () => {
    const billing = { plans, subscription: null }
    assert.strictEqual(recommended({ ...billing, plan: "trial" }), "starter")
    assert.strictEqual(recommended({ ...billing, plan: "growth" }), "business")
    assert.strictEqual(recommended({ ...billing, plan: "business" }), undefined)
  })
})
