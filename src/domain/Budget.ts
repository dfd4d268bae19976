import { DateTime } from "effect"

/** The budget of a key: the credits that it may spend in a period (R50). */

export const maxBudgetCredits = 1_000_000_000

export const budgetPeriods = ["day", "month", "life"] as const
export type BudgetPeriod = (typeof budgetPeriods)[number]

export interface Budget {
  readonly credits: number
  /** A day or month of the UTC calendar, or the life of the key. */
  readonly period: BudgetPeriod
}

/** The period of a budget that contains a moment. A life begins with time itself and has no end. */
export const budgetPeriodAt = (
  period: BudgetPeriod,
  now: number
): { readonly start: number; readonly end: number | undefined } => {
  if (period === "life") return { start: 0, end: undefined }
  const start = DateTime.startOf(DateTime.makeUnsafe(now), period)
  const end = DateTime.add(start, period === "day" ? { days: 1 } : { months: 1 })
  return { start: DateTime.toEpochMillis(start), end: DateTime.toEpochMillis(end) }
}

/** The share of a budget that is spent, credits held for searches in flight included. */
export interface Spending {
  readonly credits: number
  /** Unix milliseconds at which it starts anew; undefined for the life of a key. */
  readonly resetsAt: number | undefined
}

/** A budget in words, for messages and the command line. */
export const describeBudget = ({ credits, period }: Budget): string =>
  `${credits} ${credits === 1 ? "credit" : "credits"} ${period === "life" ? "in all" : `each UTC ${period}`}`
