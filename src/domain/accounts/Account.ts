import type { Plan } from "../credits/Plan.ts"

export interface NextTerms {
  readonly plan: Plan
  /** Searches per period. Undefined: usage is counted but not limited (R23). */
  readonly quota: number | undefined
  readonly concurrency: number
  /** Unix milliseconds, as all times here. */
  readonly at: number
}

export interface Account {
  readonly id: string
  /** Trimmed and in lower case; empty for a marketplace subscriber. */
  readonly email: string
  readonly plan: Plan
  /** Searches per period. Undefined: usage is counted but not limited (R23). */
  readonly quota: number | undefined
  readonly concurrency: number
  /** Start of the subscription. Undefined on the trial and for plans that follow calendar months. */
  readonly cycleStart: number | undefined
  readonly createdAt: number
  /** From then on, no credential of the account is accepted (R49). */
  readonly suspendedAt: number | undefined
  /** Agreed with this account, so changes of the plan do not change it (R75). */
  readonly agreedQuota?: true
  readonly agreedConcurrency?: true
  /** The next change: the end of a grace period or subscription, a downgrade, or lower limits (R39, R41, R75). */
  readonly next?: NextTerms | undefined
  /** Cents per 1,000 pack credits of a custom account (R36). */
  readonly packRate?: number | undefined
}

export const accountAt = (account: Account, now: number): Account => {
  const { next, ...terms } = account
  if (next === undefined || next.at > now) return account
  const { concurrency, plan, quota } = next
  return { ...terms, plan, quota, concurrency, cycleStart: plan === "trial" ? undefined : account.cycleStart }
}

export interface Allowance {
  readonly plan: Plan
  /** Searches per period. Undefined: usage is counted but not limited. */
  readonly quota: number | undefined
  /** Credits of the quota that are spent or held for running searches. */
  readonly used: number
  /** Pack credits, excluding those held for running searches. */
  readonly balance: number
  /** Unix milliseconds; undefined on the trial. */
  readonly periodStart: number | undefined
  /** Unix milliseconds; undefined on the trial. */
  readonly resetsAt: number | undefined
}

export const remaining = (allowance: Allowance): number =>
  allowance.quota === undefined ? Number.MAX_SAFE_INTEGER : allowance.quota - allowance.used

/** Without a quota, returns 2^53 - 1, the largest integer that every JSON client reads exactly. */
export const creditsAvailable = (allowance: Allowance): number =>
  Math.min(remaining(allowance) + allowance.balance, Number.MAX_SAFE_INTEGER)

/** Takes `credits` from the quota first, then from pack credits (R30). Undefined if there are not enough. */
export const split = (
  allowance: Allowance,
  credits: number
): { readonly fromQuota: number; readonly fromBalance: number } | undefined => {
  const fromQuota = Math.min(credits, remaining(allowance))
  const fromBalance = credits - fromQuota
  return fromBalance <= allowance.balance ? { fromQuota, fromBalance } : undefined
}

/** Returns a hold's unspent credits to pack credits first, then to the quota (R30). */
export const giveBack = (
  hold: { readonly fromQuota: number; readonly fromBalance: number },
  charge: number
): { readonly toQuota: number; readonly toBalance: number } => {
  const unspent = hold.fromQuota + hold.fromBalance - charge
  const toBalance = Math.min(unspent, hold.fromBalance)
  return { toQuota: unspent - toBalance, toBalance }
}
