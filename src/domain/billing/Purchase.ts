import type { PaidPlan, Plan } from "../credits/Plan.ts"

// Money is in US cents; credits are integers.

export const soldPlans = ["starter", "growth", "business"] as const satisfies ReadonlyArray<PaidPlan>
export type SoldPlan = (typeof soldPlans)[number]

export const packSizes = [10_000, 50_000, 100_000] as const
export type PackSize = (typeof packSizes)[number]

export const currency = "usd"

/** `rate` is in cents per 1,000 credits. Pack sizes are multiples of 1,000, so the price is exact. */
export const packPrice = (credits: PackSize, rate: number): number => (credits / 1_000) * rate

const rank: { readonly [P in Plan]: number } = { trial: 0, starter: 1, growth: 2, business: 3, custom: 4 }
export const isUpgrade = (from: Plan, to: Plan): boolean => rank[to] > rank[from]

/** `at` is the payment provider's time in Unix milliseconds. */
export interface PlanStep {
  readonly plan: SoldPlan
  readonly at: number
}

export type OrderStatus = "pending" | "paid" | "void"

/** The pack credits that a refund takes back, rounded up so that a buyer never keeps more than was paid for (R40). */
export const creditsRefunded = (credits: number, netCents: number, refundedCents: number): number => {
  if (refundedCents <= 0) return 0
  return refundedCents >= netCents ? credits : Math.ceil((credits * refundedCents) / netCents)
}

/** The granted credits that an order takes back: all if it is void or its dispute is lost (R40). */
export const creditsTakenBack = (order: {
  readonly granted: number
  readonly isDisputeLost: boolean
  readonly netCents: number
  readonly refundedCents: number
  readonly status: OrderStatus
}): number =>
  order.isDisputeLost || order.status === "void"
    ? order.granted
    : creditsRefunded(order.granted, order.netCents, order.refundedCents)

/** The quoted credits if the quoted price was paid; otherwise the credits that the amount buys at the quoted rate. */
export const creditsBought = (credits: number, quotedCents: number, netCents: number): number =>
  netCents === quotedCents || quotedCents <= 0 ? credits : Math.floor((credits * netCents) / quotedCents)

/** None until the order is paid, and never a second time (R38). `before` are the credits that it has granted already. */
export const creditsGranted = (
  before: number,
  order: {
    readonly netCents: number
    readonly purchase:
      | { readonly kind: "pack"; readonly credits: number; readonly quotedCents: number }
      | { readonly kind: "plan" | "other" }
    readonly status: OrderStatus
  }
): number => {
  if (before > 0) return before
  const { netCents, purchase, status } = order
  return purchase.kind === "pack" && status === "paid"
    ? creditsBought(purchase.credits, purchase.quotedCents, netCents)
    : 0
}
