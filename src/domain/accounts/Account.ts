import type { Plan } from "../credits/Plan.ts"

/** Terms that an account gets at a moment that is known beforehand. */
export interface NextTerms {
  readonly plan: Plan
  /** Undefined where usage is counted without a limit. */
  readonly quota: number | undefined
  readonly concurrency: number
  /** Unix milliseconds. */
  readonly at: number
}

export interface Account {
  /** `acc_` and 32 hex characters. */
  readonly id: string
  /** Trimmed and lower-cased; empty for a marketplace subscriber. */
  readonly email: string
  readonly plan: Plan
  /** Searches in a period; undefined where usage is counted without a limit (R23). */
  readonly quota: number | undefined
  readonly concurrency: number
  /** Start of the subscription in Unix milliseconds; undefined on the trial and where calendar months apply. */
  readonly cycleStart: number | undefined
  readonly createdAt: number
  /** Unix milliseconds since when no credential of the account is accepted (R49); undefined otherwise. */
  readonly suspendedAt: number | undefined
  /** True for a quota that was agreed with the account, and so does not follow its plan (R75). */
  readonly agreedQuota?: true
  /** The same of the concurrency. */
  readonly agreedConcurrency?: true
  /** A change that lies ahead: the end of a grace or a subscription, a downgrade, or lower limits (R39, R41, R75). */
  readonly next?: NextTerms | undefined
  /** Cents for 1,000 pack credits of a custom account, as an operator set them (R36). */
  readonly packRate?: number | undefined
}

/** The account as it is at a moment: a change of plan that is due by then has happened, to the second (R41). */
export const accountAt = (account: Account, now: number): Account => {
  const { next, ...terms } = account
  if (next === undefined || next.at > now) return account
  const { concurrency, plan, quota } = next
  return { ...terms, plan, quota, concurrency, cycleStart: plan === "trial" ? undefined : account.cycleStart }
}

/** The credits of an account at one moment: its quota with the use of the period, and its packs. */
export interface Allowance {
  readonly plan: Plan
  /** Searches in the period; undefined where usage is counted without a limit. */
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

/** The unused part of the period's quota. It is never below 0, because `used` never exceeds the quota (I1). */
export const remaining = (allowance: Allowance): number =>
  allowance.quota === undefined ? Number.MAX_SAFE_INTEGER : allowance.quota - allowance.used

/**
 * Remaining quota and pack balance together. Without a quota it is 2^53 - 1, the largest integer that every client reads
 * exactly.
 */
export const creditsAvailable = (allowance: Allowance): number =>
  Math.min(remaining(allowance) + allowance.balance, Number.MAX_SAFE_INTEGER)

/** Splits `credits` between quota and pack balance, quota first (R30). Undefined where both together do not suffice. */
export const split = (
  allowance: Allowance,
  credits: number
): { readonly fromQuota: number; readonly fromBalance: number } | undefined => {
  const fromQuota = Math.min(credits, remaining(allowance))
  const fromBalance = credits - fromQuota
  return fromBalance <= allowance.balance ? { fromQuota, fromBalance } : undefined
}

/** Splits the credits that a hold returns between quota and pack balance, packs first (R30). */
export const giveBack = (
  hold: { readonly fromQuota: number; readonly fromBalance: number },
  charge: number
): { readonly toQuota: number; readonly toBalance: number } => {
  const unspent = hold.fromQuota + hold.fromBalance - charge
  const toBalance = Math.min(unspent, hold.fromBalance)
  return { toQuota: unspent - toBalance, toBalance }
}
