import { DateTime, Schema } from "effect"

export const plans = ["trial", "starter", "growth", "business", "custom"] as const

export const Plan = Schema.Literals(plans).annotate({ identifier: "Plan", description: "The account's plan" })
export type Plan = typeof Plan.Type

/** A plan with a period. The trial has none: it belongs to an email address. */
export type PaidPlan = Exclude<Plan, "trial">
export const paidPlans = ["starter", "growth", "business", "custom"] as const satisfies ReadonlyArray<PaidPlan>

/** The limits of a plan. */
export interface PlanTerms {
  /** Searches in a period; undefined where it is agreed for each account. */
  readonly quota: number | undefined
  /** Searches that one batch runs concurrently. The per-minute limit is 60 times this number. */
  readonly concurrency: number
}

/** The limits of every plan. */
export type TermsTable = { readonly [P in Plan]: PlanTerms }

/** A plan as the operator sells it. */
export interface PlanOffer extends PlanTerms {
  /** The name that people see. */
  readonly name: string
  /** US cents a month. It has no meaning for the trial and for custom plans. */
  readonly priceCents: number
  /** US cents for 1,000 pack credits; 0 where the plan sells no packs. */
  readonly packCentsPer1000: number
}

/** Every plan as the operator sells it. */
export type PlanTable = { readonly [P in Plan]: PlanOffer }

/** The specification's table (R36), which applies where the operator's file says nothing else (R75). */
export const standardPlans: PlanTable = {
  trial: { name: "Trial", quota: 100, concurrency: 1, priceCents: 0, packCentsPer1000: 0 },
  starter: { name: "Starter", quota: 5_000, concurrency: 2, priceCents: 900, packCentsPer1000: 150 },
  growth: { name: "Growth", quota: 75_000, concurrency: 5, priceCents: 4_900, packCentsPer1000: 80 },
  business: { name: "Business", quota: 200_000, concurrency: 10, priceCents: 9_900, packCentsPer1000: 60 },
  custom: { name: "Custom", quota: undefined, concurrency: 20, priceCents: 0, packCentsPer1000: 0 }
}

/** Requests of a credential in a rolling minute: 60 for each unit of concurrency. */
export const requestsPerMinute = (concurrency: number): number => concurrency * 60

/** The time over which a quota is measured, in Unix milliseconds. `end` is exclusive. */
export interface Period {
  readonly start: number
  readonly end: number
}

/** The `count`th renewal of a subscription: same day and time in UTC, clamped to the month's last day (R31). */
const renewal = (cycleStart: DateTime.Utc, count: number): number =>
  DateTime.toEpochMillis(DateTime.add(cycleStart, { months: count }))

/**
 * The billing cycle around `now` (R31). Renewals are counted from the subscription's start, so that a renewal on
 * 28 February is followed by one on 31 March. Counted from the renewal before, it would be 28 March.
 */
export const billingCycle = (cycleStartMillis: number, nowMillis: number): Period => {
  const start = DateTime.makeUnsafe(cycleStartMillis)
  const from = DateTime.toPartsUtc(start)
  const to = DateTime.toPartsUtc(DateTime.makeUnsafe(nowMillis))
  const months = (to.year - from.year) * 12 + (to.month - from.month)
  const count = renewal(start, months) <= nowMillis ? months : months - 1
  return { start: renewal(start, count), end: renewal(start, count + 1) }
}

/** The UTC calendar month around `now`: the period of a paid plan without a subscription cycle. */
export const calendarMonth = (nowMillis: number): Period => {
  const { month, year } = DateTime.toPartsUtc(DateTime.makeUnsafe(nowMillis))
  const start = DateTime.makeUnsafe({ year, month, day: 1 })
  return { start: DateTime.toEpochMillis(start), end: DateTime.toEpochMillis(DateTime.add(start, { months: 1 })) }
}

/** The period of an account's quota at `now`; undefined on the trial, which has none. */
export const periodAt = (plan: Plan, cycleStartMillis: number | undefined, nowMillis: number): Period | undefined => {
  if (plan === "trial") return undefined
  return cycleStartMillis === undefined ? calendarMonth(nowMillis) : billingCycle(cycleStartMillis, nowMillis)
}
