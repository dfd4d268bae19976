import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import {
  billingCycle,
  calendarMonth,
  type Period,
  periodAt,
  plans,
  requestsPerMinute,
  standardPlans
} from "../../../src/domain/credits/Plan.ts"

const at = (iso: string): number => Date.parse(iso)

const shown = (period: Period): readonly [start: string, end: string] => [
  new Date(period.start).toISOString(),
  new Date(period.end).toISOString()
]

/** The renewals of a subscription: the starts of its first cycles, each found from the end of the one before it. */
const renewals = (cycleStart: string, count: number): ReadonlyArray<string> => {
  const moments: Array<string> = []
  let now = at(cycleStart)
  while (moments.length < count) {
    const { end, start } = billingCycle(at(cycleStart), now)
    moments.push(new Date(start).toISOString())
    now = end
  }
  return moments
}

describe("plans", () => {
  const table = [
    ["trial", 100, 1, 60],
    ["starter", 5_000, 2, 120],
    ["growth", 75_000, 5, 300],
    ["business", 200_000, 10, 600],
    ["custom", undefined, 20, 1_200]
  ] as const

  it("are the specification's five, in its order", () => {
    assert.deepStrictEqual(
      [...plans],
      table.map(([plan]) => plan)
    )
  })

  for (const [plan, quota, concurrency, perMinute] of table) {
    it(`${plan} has the specification's quota, concurrency and per-minute limit`, () => {
      assert.deepInclude(standardPlans[plan], { quota, concurrency })
      assert.strictEqual(requestsPerMinute(standardPlans[plan].concurrency), perMinute)
    })
  }
})

describe("R31: billing cycles", () => {
  it("renew on the day and at the time the subscription started", () => {
    assert.deepStrictEqual(renewals("2026-03-15T10:20:30.456Z", 3), [
      "2026-03-15T10:20:30.456Z",
      "2026-04-15T10:20:30.456Z",
      "2026-05-15T10:20:30.456Z"
    ])
  })

  it("begun on the 31st are clamped to the month's last day and return to the 31st", () => {
    assert.deepStrictEqual(renewals("2026-01-31T23:59:59.999Z", 6), [
      "2026-01-31T23:59:59.999Z",
      "2026-02-28T23:59:59.999Z",
      "2026-03-31T23:59:59.999Z",
      "2026-04-30T23:59:59.999Z",
      "2026-05-31T23:59:59.999Z",
      "2026-06-30T23:59:59.999Z"
    ])
  })

  it("are clamped to 29 February in a leap year, and only there", () => {
    assert.deepStrictEqual(renewals("2024-01-31T00:00:00Z", 3)[1], "2024-02-29T00:00:00.000Z")
    assert.deepStrictEqual(renewals("2024-01-29T00:00:00Z", 3)[1], "2024-02-29T00:00:00.000Z")
    assert.deepStrictEqual(renewals("2023-01-29T00:00:00Z", 3)[1], "2023-02-28T00:00:00.000Z")
    // A century is a leap year only when 400 divides it.
    assert.deepStrictEqual(renewals("2100-01-30T00:00:00Z", 3)[1], "2100-02-28T00:00:00.000Z")
    assert.deepStrictEqual(renewals("2000-01-30T00:00:00Z", 3)[1], "2000-02-29T00:00:00.000Z")
  })

  it("begun on 29 February renew on the 29th, also years later", () => {
    assert.deepStrictEqual(shown(billingCycle(at("2024-02-29T12:00:00Z"), at("2025-03-01T00:00:00Z"))), [
      "2025-02-28T12:00:00.000Z",
      "2025-03-29T12:00:00.000Z"
    ])
    assert.deepStrictEqual(shown(billingCycle(at("2024-02-29T12:00:00Z"), at("2028-03-01T00:00:00Z"))), [
      "2028-02-29T12:00:00.000Z",
      "2028-03-29T12:00:00.000Z"
    ])
  })

  it("cross the year", () => {
    assert.deepStrictEqual(shown(billingCycle(at("2025-12-31T08:00:00Z"), at("2026-01-10T00:00:00Z"))), [
      "2025-12-31T08:00:00.000Z",
      "2026-01-31T08:00:00.000Z"
    ])
  })

  it("change at the very millisecond of the renewal", () => {
    const start = at("2026-01-31T10:00:00Z")
    const renewal = at("2026-02-28T10:00:00Z")
    assert.strictEqual(billingCycle(start, renewal - 1).end, renewal)
    assert.strictEqual(billingCycle(start, renewal).start, renewal)
    assert.strictEqual(billingCycle(start, start).start, start)
  })

  it("are reckoned backwards for a moment before the subscription: a clock that lags gets a cycle that holds it", () => {
    const start = at("2026-03-31T10:00:00Z")
    assert.deepStrictEqual(shown(billingCycle(start, start - 1)), [
      "2026-02-28T10:00:00.000Z",
      "2026-03-31T10:00:00.000Z"
    ])
    assert.deepStrictEqual(shown(billingCycle(start, at("2026-02-28T09:59:59.999Z"))), [
      "2026-01-31T10:00:00.000Z",
      "2026-02-28T10:00:00.000Z"
    ])
  })
})

const moment = fc.integer({ min: at("1971-01-01T00:00:00Z"), max: at("2200-01-01T00:00:00Z") })
/** Moments on and beside the ends of months, where clamping happens. */
const monthEnd = fc
  .tuple(
    fc.integer({ min: 1971, max: 2199 }),
    fc.nat(11),
    fc.integer({ min: -3, max: 1 }),
    fc.constantFrom(0, 1, 43_200_000, 86_399_999)
  )
  .map(([year, month, days, time]) => Date.UTC(year, month + 1, days) + time)
const anyMoment = fc.oneof(moment, monthEnd)

describe("R31: every billing cycle", () => {
  it("holds the moment it was asked for, before the subscription's start too", () => {
    fc.assert(
      fc.property(anyMoment, anyMoment, (start, now) => {
        const cycle = billingCycle(start, now)
        assert.isTrue(cycle.start <= now && now < cycle.end)
      }),
      { numRuns: 1_000 }
    )
  })

  it("meets its neighbors without gap or overlap, and every moment in it has the same cycle", () => {
    fc.assert(
      fc.property(anyMoment, anyMoment, fc.double({ min: 0, max: 1, noNaN: true }), (start, now, share) => {
        const cycle = billingCycle(start, now)
        assert.strictEqual(billingCycle(start, cycle.end).start, cycle.end)
        assert.strictEqual(billingCycle(start, cycle.start - 1).end, cycle.start)
        const inside = cycle.start + Math.floor(share * (cycle.end - cycle.start - 1))
        assert.deepStrictEqual(billingCycle(start, inside), cycle)
      }),
      { numRuns: 1_000 }
    )
  })

  it("begins at the subscription's time of day, on its day or the month's last", () => {
    fc.assert(
      fc.property(anyMoment, anyMoment, (start, now) => {
        const cycle = billingCycle(start, now)
        const day = 86_400_000
        assert.strictEqual(cycle.start % day, start % day)
        const begun = new Date(cycle.start)
        const lastDay = new Date(Date.UTC(begun.getUTCFullYear(), begun.getUTCMonth() + 1, 0)).getUTCDate()
        assert.strictEqual(begun.getUTCDate(), Math.min(new Date(start).getUTCDate(), lastDay))
        const length = (cycle.end - cycle.start) / day
        assert.isTrue(length >= 28 && length <= 31, `${length} days`)
      }),
      { numRuns: 1_000 }
    )
  })
})

describe("the calendar month", () => {
  it("begins at 00:00:00Z on the 1st", () => {
    assert.deepStrictEqual(shown(calendarMonth(at("2024-02-29T23:59:59.999Z"))), [
      "2024-02-01T00:00:00.000Z",
      "2024-03-01T00:00:00.000Z"
    ])
    assert.deepStrictEqual(shown(calendarMonth(at("2026-12-31T12:00:00Z"))), [
      "2026-12-01T00:00:00.000Z",
      "2027-01-01T00:00:00.000Z"
    ])
    assert.deepStrictEqual(shown(calendarMonth(at("2026-05-01T00:00:00Z"))), [
      "2026-05-01T00:00:00.000Z",
      "2026-06-01T00:00:00.000Z"
    ])
  })

  it("holds the moment it was asked for and meets its neighbors", () => {
    fc.assert(
      fc.property(anyMoment, (now) => {
        const month = calendarMonth(now)
        const date = new Date(now)
        assert.strictEqual(month.start, Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1))
        assert.isTrue(month.start <= now && now < month.end)
        assert.strictEqual(calendarMonth(month.end).start, month.end)
        assert.strictEqual(calendarMonth(month.start - 1).end, month.start)
      }),
      { numRuns: 1_000 }
    )
  })
})

describe("the period of an account", () => {
  const now = at("2026-05-20T00:00:00Z")
  const start = at("2026-03-31T10:00:00Z")

  it("is none on the trial, with any other facts", () => {
    assert.isUndefined(periodAt("trial", undefined, now))
    assert.isUndefined(periodAt("trial", start, now))
  })

  for (const plan of ["starter", "growth", "business", "custom"] as const) {
    it(`is ${plan}'s billing cycle, or the calendar month without one`, () => {
      assert.deepStrictEqual(periodAt(plan, start, now), billingCycle(start, now))
      assert.deepStrictEqual(periodAt(plan, undefined, now), calendarMonth(now))
    })
  }

  it("is a billing cycle for a subscription begun at Unix time 0", () => {
    assert.deepStrictEqual(periodAt("starter", 0, 1), billingCycle(0, 1))
  })
})
