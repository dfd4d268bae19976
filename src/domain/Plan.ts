import { DateTime, Schema } from "effect"

export const plans = ["trial", "starter", "growth", "business", "custom"] as const

export const Plan = Schema.Literals(plans).annotate({ identifier: "Plan", description: "The account's plan" })
export type Plan = typeof Plan.Type

/** A plan with a period: the trial has none, and is an address's. */
export type PaidPlan = Exclude<Plan, "trial">
export const paidPlans = ["starter", "growth", "business", "custom"] as const satisfies ReadonlyArray<PaidPlan>

export interface PlanTerms {
  /** Searches the plan's quota allows in a period; undefined where it is agreed per account. */
  readonly quota: number | undefined
  /** Searches one request runs side by side, and the per-minute limit in units of 60. */
  readonly concurrency: number
}

export const planTerms: { readonly [P in Plan]: PlanTerms } = {
  trial: { quota: 100, concurrency: 1 },
  starter: { quota: 5_000, concurrency: 2 },
  growth: { quota: 75_000, concurrency: 5 },
  business: { quota: 200_000, concurrency: 10 },
  custom: { quota: undefined, concurrency: 20 }
}

/** Requests a credential may make in a rolling minute: 60 for each unit of concurrency. */
export const requestsPerMinute = (concurrency: number): number => concurrency * 60

/** A stretch of time over which a quota is measured, in Unix milliseconds; `end` is its first moment outside. */
export interface Period {
  readonly start: number
  readonly end: number
}

/** The `count`th renewal of a subscription: same day and time in UTC, clamped to the month's last day (R31). */
const renewal = (cycleStart: DateTime.Utc, count: number): number =>
  DateTime.toEpochMillis(DateTime.add(cycleStart, { months: count }))

/**
 * The billing cycle that holds `now` (R31). Every renewal is counted from the subscription's start and not from the
 * renewal before it, so that a cycle clamped to 28 February is followed by 31 March and not by 28 March.
 */
export const billingCycle = (cycleStartMillis: number, nowMillis: number): Period => {
  const start = DateTime.makeUnsafe(cycleStartMillis)
  const from = DateTime.toPartsUtc(start)
  const to = DateTime.toPartsUtc(DateTime.makeUnsafe(nowMillis))
  const months = (to.year - from.year) * 12 + (to.month - from.month)
  const count = renewal(start, months) <= nowMillis ? months : months - 1
  return { start: renewal(start, count), end: renewal(start, count + 1) }
}

/** The UTC calendar month that holds `now`: the period of a paid plan without a subscription cycle. */
export const calendarMonth = (nowMillis: number): Period => {
  const { month, year } = DateTime.toPartsUtc(DateTime.makeUnsafe(nowMillis))
  const start = DateTime.makeUnsafe({ year, month, day: 1 })
  return { start: DateTime.toEpochMillis(start), end: DateTime.toEpochMillis(DateTime.add(start, { months: 1 })) }
}

/** The period that an account's quota is measured over at `now`; undefined on the trial, which has none. */
export const periodAt = (plan: Plan, cycleStartMillis: number | undefined, nowMillis: number): Period | undefined => {
  if (plan === "trial") return undefined
  return cycleStartMillis === undefined ? calendarMonth(nowMillis) : billingCycle(cycleStartMillis, nowMillis)
}

/** RFC 5321 gives a path 256 octets, its angle brackets included. */
export const maxEmailCharacters = 254

/** The form of an email address by which the trial is granted once (R32). */
export const normalizeEmail = (email: string): string => email.trim().toLowerCase()
