import { assert, describe, it } from "@effect/vitest"
import { constantHistory, limitsOfPeriod } from "../../../src/domain/billing/PlanHistory.ts"
import {
  cycleStartOf,
  entitlementAt,
  graceEnd,
  type PlanOrder,
  readingOf,
  type SoldSubscription,
  sightOf
} from "../../../src/domain/billing/Subscription.ts"
import { billingCycle, standardPlans } from "../../../src/domain/credits/Plan.ts"

const start = Date.parse("2027-01-31T12:00:00Z")
const dayMs = 86_400_000
const graceMs = 3 * dayMs
const history = constantHistory(standardPlans)

const subscription = (given: Partial<SoldSubscription> = {}): SoldSubscription => ({
  id: "sub_1",
  plan: "growth",
  status: "active",
  period: billingCycle(start, start),
  startedAt: start,
  cancelAtPeriodEnd: false,
  pending: undefined,
  pastDueAt: undefined,
  modifiedAt: start,
  ...given
})

const { period } = subscription()

const order = (given: Partial<PlanOrder>): PlanOrder => ({
  plan: "growth",
  reason: "create",
  status: "paid",
  createdAt: start,
  ...given
})

const quotaOf = (it: SoldSubscription, orders: ReadonlyArray<PlanOrder>) => {
  const { sight, steps } = sightOf(it, orders, undefined)
  return limitsOfPeriod(history, sight.first, steps, it.period).quota
}

describe("entitlementAt", () => {
  it("R41: keeps the plan until the grace ends, to the millisecond", () => {
    const late = subscription({ status: "past_due", pastDueAt: period.start })
    const end = graceEnd(late, graceMs)
    assert.strictEqual(end, period.start + graceMs)
    assert.deepInclude(entitlementAt([late], graceMs, end - 1), { plan: "growth", next: { plan: "trial", at: end } })
    assert.isUndefined(entitlementAt([late], graceMs, end))
  })

  it("R39: ends with a canceled period, and changes to a lower plan when the provider is late with it", () => {
    const canceled = subscription({ cancelAtPeriodEnd: true })
    assert.deepInclude(entitlementAt([canceled], graceMs, period.end - 1), { next: { plan: "trial", at: period.end } })
    assert.isUndefined(entitlementAt([canceled], graceMs, period.end))
    const lower = subscription({ pending: { plan: "starter", at: period.end } })
    assert.strictEqual(entitlementAt([lower], graceMs, period.end - 1)?.plan, "growth")
    assert.strictEqual(entitlementAt([lower], graceMs, period.end)?.plan, "starter")
  })

  it("R41: of several subscriptions gives the highest plan, and after its end the next one", () => {
    const high = subscription({ id: "sub_2", plan: "business", cancelAtPeriodEnd: true })
    const both = [subscription(), high]
    for (const all of [both, [...both].reverse()]) {
      assert.deepInclude(entitlementAt(all, graceMs, start), {
        plan: "business",
        next: { plan: "growth", at: period.end }
      })
    }
    assert.strictEqual(entitlementAt([subscription({ status: "ended" })], graceMs, start), undefined)
  })
})

describe("cycleStartOf", () => {
  it("R31: is the subscription's start, so that 31 January is followed by 28 February and 31 March", () => {
    for (const now of ["2027-02-01", "2027-03-01", "2027-04-15", "2028-02-29"]) {
      const month = billingCycle(start, Date.parse(now))
      assert.strictEqual(cycleStartOf(subscription({ period: month })), start)
    }
  })

  it("is the period's start, where the provider has moved the period", () => {
    const moved = billingCycle(start + dayMs * 7, start + dayMs * 8)
    assert.strictEqual(cycleStartOf(subscription({ period: moved })), moved.start)
    assert.strictEqual(cycleStartOf(subscription({ startedAt: moved.end, period: moved })), moved.start)
  })
})

describe("sightOf", () => {
  it("R39: an upgrade counts from its order's moment, whenever it is seen", () => {
    const half = (period.start + period.end) / 2
    const orders = [order({ plan: "starter" }), order({ plan: "business", reason: "update", createdAt: half })]
    const late = subscription({ plan: "business", modifiedAt: period.end - 1 })
    assert.strictEqual(quotaOf(late, orders), 5_000 + 97_500)
  })

  it("R39: an order that is not paid, or of another period, changes nothing", () => {
    const orders = [
      order({ plan: "starter", reason: "create", createdAt: period.start - dayMs }),
      order({ plan: "growth", reason: "cycle", status: "pending" }),
      order({ plan: "business", reason: "update", status: "pending", createdAt: start + dayMs })
    ]
    assert.strictEqual(quotaOf(subscription(), orders), 75_000)
  })

  it("R39: a change without an order keeps the time at which it was first seen", () => {
    const first = sightOf(subscription(), [order({})], undefined).sight
    const changed = subscription({ plan: "business", modifiedAt: start + dayMs })
    const seen = sightOf(changed, [order({})], first)
    assert.deepStrictEqual(seen.steps, [{ plan: "business", at: start + dayMs }])
    const again = sightOf({ ...changed, modifiedAt: start + 9 * dayMs }, [order({})], seen.sight)
    assert.deepStrictEqual(again, seen)
    const paid = order({ plan: "business", reason: "update", createdAt: start + dayMs / 2 })
    assert.deepStrictEqual(sightOf(changed, [order({}), paid], seen.sight).steps, [
      { plan: "business", at: start + dayMs / 2 }
    ])
  })
})

describe("readingOf", () => {
  it("keeps a plan that an operator set, as long as no subscription was open", () => {
    const ended = { ...subscription({ status: "ended" }), orders: [] }
    assert.isUndefined(readingOf([], [ended], { graceMs, history, now: start }).terms)
    const before = { subscription: subscription(), sight: { periodStart: start, first: "growth" as const, steps: [] } }
    assert.deepInclude(readingOf([before], [ended], { graceMs, history, now: start }).terms, {
      plan: "trial",
      quota: 100
    })
    assert.deepInclude(readingOf([before], [], { graceMs, history, now: start }).terms, {
      plan: "trial",
      period: undefined
    })
  })

  it("R31: opens the next period by the calendar while the provider is late", () => {
    const it = { ...subscription(), orders: [order({})] }
    const { terms } = readingOf([], [it], { graceMs, history, now: period.end })
    assert.deepInclude(terms?.period, {
      start: period.end,
      end: Date.parse("2027-03-31T12:00:00Z"),
      subscription: undefined
    })
  })
})
