import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  constantHistory,
  limitsAfter,
  limitsOfPeriod,
  loweredAt,
  type PlanHistory,
  termsAt
} from "../../../src/domain/billing/PlanHistory.ts"
import { isUpgrade, soldPlans } from "../../../src/domain/billing/Purchase.ts"
import { billingCycle, plans, standardPlans, type TermsTable } from "../../../src/domain/credits/Plan.ts"

const start = Date.parse("2027-01-31T12:00:00Z")
const period = billingCycle(start, start)
const length = period.end - period.start

const sold = Schema.Literals(soldPlans)
const plan = Schema.Literals(plans)
const quota = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))
const concurrency = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10_000 }))
const share = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000 }))

const limits = Schema.Struct({ quota, concurrency })
const table = Schema.Struct({ trial: limits, starter: limits, growth: limits, business: limits, custom: limits })

const at = (part: number): number => period.start + Math.round((length * part) / 1_000)

/** The standard plans until a moment, and other ones from then on. */
const changed = (part: number, terms: TermsTable): PlanHistory => [
  { since: 0, terms: standardPlans },
  { since: at(part), terms }
]

const higher = (terms: TermsTable, by: number): TermsTable => ({
  ...terms,
  starter: { ...terms.starter, quota: (terms.starter.quota ?? 0) + by },
  growth: { ...terms.growth, quota: (terms.growth.quota ?? 0) + by },
  business: { ...terms.business, quota: (terms.business.quota ?? 0) + by }
})

describe("limitsOfPeriod", () => {
  it.prop(
    "R39: the quota is between the first plan's and the last's, and grows with an earlier upgrade",
    { terms: table, first: sold, second: sold, part: share },
    ({ first, part, second, terms }) => {
      const history = constantHistory(terms)
      const quotaWith = (part: number) => limitsOfPeriod(history, first, [{ plan: second, at: at(part) }], period).quota
      const [from, to] = [terms[first].quota, terms[second].quota]
      assert.isTrue(Number.isSafeInteger(quotaWith(part)))
      if (to >= from) assert.isTrue(quotaWith(part) >= from && quotaWith(part) <= to)
      // An upgrade to a plan that the operator gave a smaller quota takes nothing away.
      else assert.strictEqual(quotaWith(part), isUpgrade(first, second) ? from : to)
      if (to >= from && part > 0) assert.isAtLeast(quotaWith(part - 1), quotaWith(part))
      assert.strictEqual(limitsOfPeriod(history, first, [], period).quota, from)
    }
  )

  it.prop(
    "R75: a change of the plans lowers nothing in the running period, and a raise adds its difference",
    { terms: table, first: sold, part: share },
    ({ first, part, terms }) => {
      const before = limitsOfPeriod(constantHistory(standardPlans), first, [], period)
      const after = limitsOfPeriod(changed(part, terms), first, [], period)
      // A change at the very start of a period is the period's own, and one at its end the next period's.
      const isWithin = part > 0 && part < 1_000
      const own = part === 0 ? terms[first].quota : before.quota
      assert.strictEqual(after.quota, isWithin ? Math.max(before.quota, terms[first].quota) : own)
      if (isWithin) assert.isAtLeast(after.limits.concurrency, before.limits.concurrency)
      const next = billingCycle(start, period.end)
      assert.strictEqual(limitsOfPeriod(changed(part, terms), first, [], next).quota, terms[first].quota)
    }
  )

  it.prop(
    "R39, R75: a raise is added in full to a quota that an upgrade made, before and after it",
    { first: sold, second: sold, upgrade: share, part: share, by: quota },
    ({ by, first, part, second, upgrade }) => {
      const steps = [{ plan: second, at: at(upgrade) }]
      const raised = changed(part, higher(standardPlans, by))
      const before = limitsOfPeriod(constantHistory(standardPlans), first, steps, period)
      const after = limitsOfPeriod(raised, first, steps, period)
      if (!isUpgrade(first, second)) return
      assert.strictEqual(after.quota - before.quota, part === 1_000 ? 0 : by)
    }
  )
})

const held = {
  plan: "growth",
  quota: 75_000,
  concurrency: 5,
  agreedQuota: false,
  agreedConcurrency: false,
  next: undefined
} as const

const withGrowth = (quota: number, concurrency: number): TermsTable => ({
  ...standardPlans,
  growth: { quota, concurrency }
})

describe("limitsAfter", () => {
  it("R75: higher limits apply at once and lower ones from the next period, each by itself", () => {
    assert.deepStrictEqual(limitsAfter(held, withGrowth(80_000, 6), period.end), {
      quota: 80_000,
      concurrency: 6,
      next: undefined
    })
    assert.deepStrictEqual(limitsAfter(held, withGrowth(80_000, 3), period.end), {
      quota: 80_000,
      concurrency: 5,
      next: { plan: "growth", quota: 80_000, concurrency: 3, at: period.end }
    })
  })

  it("R75: lower limits that lie ahead are called off when they rise again", () => {
    const { next } = limitsAfter(held, withGrowth(70_000, 3), period.end)
    const lowered = { ...held, next }
    assert.strictEqual(limitsAfter(lowered, withGrowth(75_000, 5), period.end).next, undefined)
    assert.deepInclude(limitsAfter(lowered, withGrowth(72_000, 9), period.end), {
      concurrency: 9,
      next: { plan: "growth", quota: 72_000, concurrency: 9, at: period.end }
    })
  })

  it("R75: a trial has no next period and keeps what it has", () => {
    const trial = { ...held, plan: "trial", quota: 100, concurrency: 1 } as const
    const terms = { ...standardPlans, trial: { quota: 50, concurrency: 2 } }
    assert.deepStrictEqual(limitsAfter(trial, terms, undefined), { quota: 100, concurrency: 2, next: undefined })
  })

  it("R75: a change of plan that lies ahead gets the new limits of its plan", () => {
    const next = { plan: "starter", quota: 5_000, concurrency: 2, at: period.end } as const
    const terms = { ...withGrowth(10, 1), starter: { quota: 4_000, concurrency: 3 } }
    assert.deepStrictEqual(limitsAfter({ ...held, next }, terms, period.end), {
      quota: 75_000,
      concurrency: 5,
      next: { ...next, quota: 4_000, concurrency: 3 }
    })
  })

  it.prop(
    "R75: nothing is lowered at once, what was agreed stays, and applying a change twice is applying it once",
    { plan, terms: table, quota, concurrency, agreedQuota: Schema.Boolean, agreedConcurrency: Schema.Boolean },
    ({ terms, ...given }) => {
      const before = { ...given, next: undefined }
      const end = given.plan === "trial" ? undefined : period.end
      const after = limitsAfter(before, terms, end)
      assert.isAtLeast(after.quota ?? 0, given.quota)
      assert.isAtLeast(after.concurrency, given.concurrency)
      const then = after.next ?? after
      if (given.agreedQuota) assert.deepStrictEqual([after.quota, then.quota], [given.quota, given.quota])
      else if (end !== undefined) assert.strictEqual(then.quota, terms[given.plan].quota)
      if (given.agreedConcurrency) assert.strictEqual(then.concurrency, given.concurrency)
      else if (end !== undefined) assert.strictEqual(then.concurrency, terms[given.plan].concurrency)
      assert.deepStrictEqual(limitsAfter({ ...before, ...after }, terms, end), after)
    }
  )

  it.prop(
    "R75: brings an account where a reading of its subscription does",
    { first: sold, terms: table, part: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 999 })) },
    ({ first, part, terms }) => {
      const { concurrency, quota } = standardPlans[first]
      const applied = limitsAfter({ ...held, plan: first, quota, concurrency }, terms, period.end)
      const history = changed(part, terms)
      const read = limitsOfPeriod(history, first, [], period)
      assert.deepStrictEqual(applied, {
        ...read.limits,
        next: loweredAt(first, read.limits, termsAt(history, at(part)), period.end)
      })
    }
  )
})
