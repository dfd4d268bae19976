import type { PaidPlan, Plan } from "../credits/Plan.ts"

/** Prices and the arithmetic of purchases (R36, R39, R40). Money is in US cents, credits are whole. */

/** The plans that are sold by checkout. A custom plan is quoted and set by an operator. */
export const soldPlans = ["starter", "growth", "business"] as const satisfies ReadonlyArray<PaidPlan>
export type SoldPlan = (typeof soldPlans)[number]

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
