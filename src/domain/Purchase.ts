import { type PaidPlan, type Period, type Plan, planTerms } from "./Plan.ts"

/** Prices and the arithmetic of purchases (R36, R39, R40). Money is in US cents, credits are whole. */

/** The plans that are sold by checkout. A custom plan is quoted and set by an operator. */
export const soldPlans = ["starter", "growth", "business"] as const satisfies ReadonlyArray<PaidPlan>
export type SoldPlan = (typeof soldPlans)[number]

/** Cents a month. */
export const planPrices: { readonly [P in SoldPlan]: number } = { starter: 900, growth: 4_900, business: 9_900 }

/** Cents for 1,000 pack credits, by the account's own plan. */
export const packRates: { readonly [P in SoldPlan]: number } = { starter: 150, growth: 80, business: 60 }

export const packSizes = [10_000, 50_000, 100_000] as const
export type PackSize = (typeof packSizes)[number]

export const currency = "usd"

/** The price of a pack in cents, at a rate in cents for 1,000 credits. Every size is a multiple of 1,000. */
export const packPrice = (credits: PackSize, rate: number): number => (credits / 1_000) * rate

/** The plans from the least to the most. A custom plan is quoted, and counts as the most. */
const rank: { readonly [P in Plan]: number } = { trial: 0, starter: 1, growth: 2, business: 3, custom: 4 }
export const isUpgrade = (from: Plan, to: Plan): boolean => rank[to] > rank[from]

/** A change of plan inside a period, at the instant of the change at the provider, in Unix milliseconds. */
export interface PlanStep {
  readonly plan: SoldPlan
  readonly at: number
}

/**
 * The quota of a period that began with `first` (R39): each upgrade adds the difference of the quotas in the proportion of
 * the time that was left, rounded down. A downgrade inside the period, which only a change made at the provider's own
 * portal can be, leaves the lower plan's quota. The caller keeps the quota at or above what is used (I1).
 */
export const periodQuota = (first: SoldPlan, steps: ReadonlyArray<PlanStep>, period: Period): number => {
  const length = period.end - period.start
  let plan = first
  let quota = planTerms[first].quota ?? 0
  for (const step of steps) {
    const difference = (planTerms[step.plan].quota ?? 0) - (planTerms[plan].quota ?? 0)
    const left = Math.min(Math.max(period.end - step.at, 0), length)
    // Milliseconds of a month times 195,000 searches stay below 2^53.
    quota = difference >= 0 ? quota + Math.floor((difference * left) / length) : (planTerms[step.plan].quota ?? 0)
    plan = step.plan
  }
  return quota
}

/**
 * Credits of a pack that a refund takes back (R40): its share of what was paid, rounded up, so that a refund of a part
 * never leaves more than was paid for.
 */
export const creditsRefunded = (credits: number, netCents: number, refundedCents: number): number => {
  if (refundedCents <= 0) return 0
  return refundedCents >= netCents ? credits : Math.ceil((credits * refundedCents) / netCents)
}

/**
 * Credits that a paid pack grants: those that were quoted, where the quoted price was paid, else as many as the amount
 * buys at the quoted rate.
 */
export const creditsBought = (credits: number, quotedCents: number, netCents: number): number =>
  netCents === quotedCents || quotedCents <= 0 ? credits : Math.floor((credits * netCents) / quotedCents)
