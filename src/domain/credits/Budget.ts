import { DateTime } from "effect"

export const maxBudgetCredits = 1_000_000_000

export const budgetPeriods = ["day", "month", "life"] as const
export type BudgetPeriod = (typeof budgetPeriods)[number]

export interface Budget {
  readonly credits: number
  /** A UTC calendar day or month, or the lifetime of the key. */
  readonly period: BudgetPeriod
}

/** Starts the ID of an app's budget. A key's budget has the key's ID. */
export const appBudgetPrefix = "app:"

export const budgetOfApp = (accountId: string, clientId: string): string => `${appBudgetPrefix}${accountId}:${clientId}`

export const budgetPeriodAt = (
  period: BudgetPeriod,
  now: number
): { readonly start: number; readonly end: number | undefined } => {
  if (period === "life") return { start: 0, end: undefined }
  const start = DateTime.startOf(DateTime.makeUnsafe(now), period)
  const end = DateTime.add(start, period === "day" ? { days: 1 } : { months: 1 })
  return { start: DateTime.toEpochMillis(start), end: DateTime.toEpochMillis(end) }
}

/** Includes credits held for running searches. */
export interface Spending {
  readonly credits: number
  /** Unix milliseconds of the next period; undefined for a lifetime budget. */
  readonly resetsAt: number | undefined
}

export const describeBudget = ({ credits, period }: Budget): string =>
  `${credits} ${credits === 1 ? "credit" : "credits"} ${period === "life" ? "in total" : `each UTC ${period}`}`
