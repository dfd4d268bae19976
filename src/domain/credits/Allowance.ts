import type { Plan } from "./Plan.ts"

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
