import { DateTime, Schema } from "effect"

export const plans = ["trial", "starter", "growth", "business", "custom"] as const

export const Plan = Schema.Literals(plans).annotate({ identifier: "Plan", description: "The account's plan" })
export type Plan = typeof Plan.Type

/** The trial has no period, because it is granted to an email address. */
export type PaidPlan = Exclude<Plan, "trial">
export const paidPlans = ["starter", "growth", "business", "custom"] as const satisfies ReadonlyArray<PaidPlan>

/** A higher number is a typing mistake. */
export const maxConcurrency = 10_000

export interface PlanTerms {
  /** Searches per period. Undefined: agreed with each account. */
  readonly quota: number | undefined
  /** Concurrent searches of one batch. The rate limit is 60 times this number per minute. */
  readonly concurrency: number
}

export type TermsTable = { readonly [P in Plan]: PlanTerms }

export interface PlanOffer extends PlanTerms {
  readonly name: string
  /** Per month. Ignored for the trial and for custom plans. */
  readonly priceCents: number
  /** 0 if the plan sells no packs. */
  readonly packCentsPer1000: number
}

export type PlanTable = { readonly [P in Plan]: PlanOffer }

/** Applies unless the operator configures a plan file (R36, R75). */
export const standardPlans: PlanTable = {
  trial: { name: "Trial", quota: 100, concurrency: 1, priceCents: 0, packCentsPer1000: 0 },
  starter: { name: "Starter", quota: 5_000, concurrency: 2, priceCents: 900, packCentsPer1000: 150 },
  growth: { name: "Growth", quota: 75_000, concurrency: 5, priceCents: 4_900, packCentsPer1000: 80 },
  business: { name: "Business", quota: 200_000, concurrency: 10, priceCents: 9_900, packCentsPer1000: 60 },
  custom: { name: "Custom", quota: undefined, concurrency: 20, priceCents: 0, packCentsPer1000: 0 }
}

/** Per credential, in a rolling minute. */
export const requestsPerMinute = (concurrency: number): number => concurrency * 60

/** In Unix milliseconds. `end` is exclusive. */
export interface Period {
  readonly start: number
  readonly end: number
}

/** Same day and time in UTC, clamped to the month's last day (R31). */
const renewal = (cycleStart: DateTime.Utc, count: number): number =>
  DateTime.toEpochMillis(DateTime.add(cycleStart, { months: count }))

/** Counts renewals from the subscription's start, not from the last renewal: 31 March follows 28 February (R31). */
export const billingCycle = (cycleStartMillis: number, nowMillis: number): Period => {
  const start = DateTime.makeUnsafe(cycleStartMillis)
  const from = DateTime.toPartsUtc(start)
  const to = DateTime.toPartsUtc(DateTime.makeUnsafe(nowMillis))
  const months = (to.year - from.year) * 12 + (to.month - from.month)
  const count = renewal(start, months) <= nowMillis ? months : months - 1
  return { start: renewal(start, count), end: renewal(start, count + 1) }
}

export const calendarMonth = (nowMillis: number): Period => {
  const { month, year } = DateTime.toPartsUtc(DateTime.makeUnsafe(nowMillis))
  const start = DateTime.makeUnsafe({ year, month, day: 1 })
  return { start: DateTime.toEpochMillis(start), end: DateTime.toEpochMillis(DateTime.add(start, { months: 1 })) }
}

/** Undefined on the trial. */
export const periodAt = (plan: Plan, cycleStartMillis: number | undefined, nowMillis: number): Period | undefined => {
  if (plan === "trial") return undefined
  return cycleStartMillis === undefined ? calendarMonth(nowMillis) : billingCycle(cycleStartMillis, nowMillis)
}
