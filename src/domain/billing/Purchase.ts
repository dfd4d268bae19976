import type { PaidPlan, Plan } from "../credits/Plan.ts"

/** Money is in US cents; credits are integers. */

/** Sold by checkout. An operator sets custom plans. */
export const soldPlans = ["starter", "growth", "business"] as const satisfies ReadonlyArray<PaidPlan>
export type SoldPlan = (typeof soldPlans)[number]

export const packSizes = [10_000, 50_000, 100_000] as const
export type PackSize = (typeof packSizes)[number]

export const currency = "usd"

/** `rate` is in cents per 1,000 credits. Every pack size is a multiple of 1,000. */
export const packPrice = (credits: PackSize, rate: number): number => (credits / 1_000) * rate

/** Lowest plan first. A custom plan is quoted and counts as the highest. */
const rank: { readonly [P in Plan]: number } = { trial: 0, starter: 1, growth: 2, business: 3, custom: 4 }
export const isUpgrade = (from: Plan, to: Plan): boolean => rank[to] > rank[from]

/** A plan change within a period. `at` is the provider's time in Unix milliseconds. */
export interface PlanStep {
  readonly plan: SoldPlan
  readonly at: number
}

/**
 * The credits of a pack that a refund takes back (R40). Rounded up, so that a partial refund never leaves more than was
 * paid for.
 */
export const creditsRefunded = (credits: number, netCents: number, refundedCents: number): number => {
  if (refundedCents <= 0) return 0
  return refundedCents >= netCents ? credits : Math.ceil((credits * refundedCents) / netCents)
}

/** The quoted credits if the quoted price was paid; otherwise as many as the amount buys at that rate. */
export const creditsBought = (credits: number, quotedCents: number, netCents: number): number =>
  netCents === quotedCents || quotedCents <= 0 ? credits : Math.floor((credits * netCents) / quotedCents)
