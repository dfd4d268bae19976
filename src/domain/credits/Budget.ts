import { DateTime } from "effect"

export const maxBudgetCredits = 1_000_000_000

export const budgetPeriods = ["day", "month", "life"] as const
export type BudgetPeriod = (typeof budgetPeriods)[number]

export interface Budget {
  readonly credits: number
  /** A UTC calendar day or month, or the lifetime of the key. */
  readonly period: BudgetPeriod
}

/** IDs of the budgets that must cover a request: of its key or app, and of the member whose credential it is (R67). */
export interface Budgets {
  readonly own?: string | undefined
  readonly member?: string | undefined
}

/** Starts the ID of an app's budget. A key's budget has the key's ID. */
export const appBudgetPrefix = "app:"

export const memberBudgetPrefix = "member:"

/** Of the person, so that the bounds stay on the keys of a removed member. An invitation has no person yet. */
export const boundsIdOfMember = (accountId: string, personOrInvitationId: string): string =>
  `${memberBudgetPrefix}${accountId}:${personOrInvitationId}`

/** Names for the owner of a budget in error messages. */
export const budgetHolders = ["app", "member", "API key"] as const

export const holderOf = (budgetId = ""): (typeof budgetHolders)[number] => {
  if (budgetId.startsWith(appBudgetPrefix)) return "app"
  return budgetId.startsWith(memberBudgetPrefix) ? "member" : "API key"
}

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
