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
