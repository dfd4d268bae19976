import type { Plan } from "./Plan.ts"

export interface Account {
  /** `acc_` and 32 hex characters. */
  readonly id: string
  /** Trimmed and lower-cased; empty for a marketplace subscriber. */
  readonly email: string
  readonly plan: Plan
  /** Searches the quota allows in a period; undefined when usage is counted but never refused (R23). */
  readonly quota: number | undefined
  readonly concurrency: number
  /** Start of the subscription in Unix milliseconds; undefined on the trial and where calendar months apply. */
  readonly cycleStart: number | undefined
  readonly createdAt: number
}

/** What an account may still spend, at one moment. */
export interface Allowance {
  readonly plan: Plan
  /** Searches the quota allows in the period; undefined when usage is counted but never refused. */
  readonly quota: number | undefined
  /** Credits spent inside the quota, those held for searches in flight included. */
  readonly used: number
  /** Pack credits, those held for searches in flight not included. */
  readonly balance: number
  /** Start of the period in Unix milliseconds; undefined on the trial. */
  readonly periodStart: number | undefined
  /** Unix milliseconds at which the quota resets; undefined on the trial. */
  readonly resetsAt: number | undefined
}

/** What is left of the period's quota; never below 0 because `used` never exceeds it (I1). */
export const remaining = (allowance: Allowance): number =>
  allowance.quota === undefined ? Number.MAX_SAFE_INTEGER : allowance.quota - allowance.used

/**
 * Remaining quota and pack balance together. Where usage is never refused it is the largest integer that every client
 * reads exactly, 2^53 - 1, whatever was used: there is no figure to run out of.
 */
export const creditsAvailable = (allowance: Allowance): number =>
  Math.min(remaining(allowance) + allowance.balance, Number.MAX_SAFE_INTEGER)

/** How many of `credits` come from the quota and how many from the pack balance; undefined when they do not fit (R30). */
export const split = (
  allowance: Allowance,
  credits: number
): { readonly fromQuota: number; readonly fromBalance: number } | undefined => {
  const fromQuota = Math.min(credits, remaining(allowance))
  const fromBalance = credits - fromQuota
  return fromBalance <= allowance.balance ? { fromQuota, fromBalance } : undefined
}

/** How a hold's unspent credits go back: pack credits first (R30). */
export const giveBack = (
  held: { readonly fromQuota: number; readonly fromBalance: number },
  spent: number
): { readonly toQuota: number; readonly toBalance: number } => {
  const unspent = held.fromQuota + held.fromBalance - spent
  const toBalance = Math.min(unspent, held.fromBalance)
  return { toQuota: unspent - toBalance, toBalance }
}
