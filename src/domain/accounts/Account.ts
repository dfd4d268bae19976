import type { Plan } from "../credits/Plan.ts"

/** Limits that will apply to an account from `at` on. */
export interface NextTerms {
  readonly plan: Plan
  /** Undefined: usage is counted but not limited. */
  readonly quota: number | undefined
  readonly concurrency: number
  /** Unix milliseconds. */
  readonly at: number
}

export interface Account {
  /** Prefix `acc_` and 32 hex digits. */
  readonly id: string
  /** Trimmed and in lower case; empty for a marketplace subscriber. */
  readonly email: string
  readonly plan: Plan
  /** Searches per period. Undefined: usage is counted but not limited (R23). */
  readonly quota: number | undefined
  readonly concurrency: number
  /** Start of the subscription in Unix milliseconds. Undefined on the trial and for calendar months. */
  readonly cycleStart: number | undefined
  readonly createdAt: number
  /** Unix milliseconds. From then on no credential of the account is accepted (R49). */
  readonly suspendedAt: number | undefined
  /** The quota was agreed with the account, so it does not follow the plan (R75). */
  readonly agreedQuota?: true
  readonly agreedConcurrency?: true
  /** The next change: the end of a grace period or subscription, a downgrade, or lower limits (R39, R41, R75). */
  readonly next?: NextTerms | undefined
  /** Cents per 1,000 pack credits of a custom account (R36). */
  readonly packRate?: number | undefined
}

/** The account with the plan change that is due at `now`, to the second (R41). */
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
  /** Credits of the quota that were spent or are held for running searches. */
  readonly used: number
  /** Pack credits, without those held for running searches. */
  readonly balance: number
  /** Unix milliseconds; undefined on the trial. */
  readonly periodStart: number | undefined
  /** Unix milliseconds; undefined on the trial. */
  readonly resetsAt: number | undefined
}

/** Never below 0, because `used` never exceeds the quota (I1). */
export const remaining = (allowance: Allowance): number =>
  allowance.quota === undefined ? Number.MAX_SAFE_INTEGER : allowance.quota - allowance.used

/** Without a quota, returns 2^53 - 1, the largest integer that every client reads exactly. */
export const creditsAvailable = (allowance: Allowance): number =>
  Math.min(remaining(allowance) + allowance.balance, Number.MAX_SAFE_INTEGER)

/** Splits `credits` between quota and pack balance, quota first (R30). Undefined if they do not suffice. */
export const split = (
  allowance: Allowance,
  credits: number
): { readonly fromQuota: number; readonly fromBalance: number } | undefined => {
  const fromQuota = Math.min(credits, remaining(allowance))
  const fromBalance = credits - fromQuota
  return fromBalance <= allowance.balance ? { fromQuota, fromBalance } : undefined
}

/** Splits credits that a hold returns between quota and pack balance, packs first (R30). */
export const giveBack = (
  hold: { readonly fromQuota: number; readonly fromBalance: number },
  charge: number
): { readonly toQuota: number; readonly toBalance: number } => {
  const unspent = hold.fromQuota + hold.fromBalance - charge
  const toBalance = Math.min(unspent, hold.fromBalance)
  return { toQuota: unspent - toBalance, toBalance }
}
