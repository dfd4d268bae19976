import type { NextTerms } from "../accounts/Account.ts"
import { type Period, type Plan, type PlanTerms, plans, type TermsTable } from "../credits/Plan.ts"
import { isUpgrade, type PlanStep, type SoldPlan } from "./Purchase.ts"

// Higher limits of a plan apply immediately, lower limits from an account's next period (R75).

export interface PlanVersion {
  /** Unix milliseconds. */
  readonly since: number
  readonly terms: TermsTable
}

/** Oldest first. The first version also applies to the time before it. */
export type PlanHistory = readonly [PlanVersion, ...ReadonlyArray<PlanVersion>]

export const constantHistory = (terms: TermsTable): PlanHistory => [{ since: 0, terms }]

export const termsAt = (history: PlanHistory, moment: number): TermsTable =>
  (history.findLast(({ since }) => since <= moment) ?? history[0]).terms

/** True if these are the latest limits. */
export const isInForce = (terms: TermsTable, history: PlanHistory): boolean => {
  const latest = history.at(-1)?.terms ?? history[0].terms
  return plans.every(
    (plan) => latest[plan].quota === terms[plan].quota && latest[plan].concurrency === terms[plan].concurrency
  )
}

interface Limits {
  readonly quota: number
  readonly concurrency: number
}

const limitsOf = ({ concurrency, quota = 0 }: PlanTerms): Limits => ({ quota, concurrency })

const highest = (a: Limits, b: Limits): Limits => ({
  quota: Math.max(a.quota, b.quota),
  concurrency: Math.max(a.concurrency, b.concurrency)
})

/**
 * An upgrade adds the difference of the quotas in proportion to the time left, rounded down (R39). A downgrade,
 * possible only in the provider's portal, leaves the lower quota. If the plan's own limits change, higher limits add
 * their difference in full and lower limits wait for the next period. The caller keeps the quota at or above what was
 * used (I1).
 */
export const limitsOfPeriod = (
  history: PlanHistory,
  first: SoldPlan,
  steps: ReadonlyArray<PlanStep>,
  period: Period
): { readonly plan: SoldPlan; readonly limits: Limits; readonly quota: number } => {
  const length = period.end - period.start
  let plan = first
  let limits = limitsOf(termsAt(history, period.start)[first])
  let quota = limits.quota
  const raise = (terms: TermsTable): void => {
    const raised = highest(limits, limitsOf(terms[plan]))
    quota += raised.quota - limits.quota
    limits = raised
  }
  const enter = (step: PlanStep): void => {
    const entered = limitsOf(termsAt(history, step.at)[step.plan])
    const left = Math.min(Math.max(period.end - step.at, 0), length)
    const difference = Math.max(entered.quota - limits.quota, 0)
    // The milliseconds of a month times a large quota exceed 2^53.
    const gain = Number((BigInt(difference) * BigInt(left)) / BigInt(length))
    quota = entered.quota >= limits.quota || isUpgrade(plan, step.plan) ? quota + gain : entered.quota
    plan = step.plan
    limits = entered
  }
  let seen = period.start
  const versions = history.filter(({ since }) => since > period.start && since < period.end)
  for (const step of steps) {
    for (const { since, terms } of versions) if (since > seen && since <= step.at) raise(terms)
    seen = Math.max(seen, step.at)
    enter(step)
  }
  for (const { since, terms } of versions) if (since > seen) raise(terms)
  return { plan, limits, quota }
}

/** The lower limits that a plan will get; undefined if it has none. */
export const loweredAt = (plan: Plan, limits: Limits, terms: TermsTable, at: number): NextTerms | undefined => {
  const { concurrency, quota = limits.quota } = terms[plan]
  return quota < limits.quota || concurrency < limits.concurrency ? { plan, quota, concurrency, at } : undefined
}

export interface HeldLimits {
  readonly plan: Plan
  /** Undefined: usage is counted but not limited. */
  readonly quota: number | undefined
  readonly concurrency: number
  readonly agreedQuota: boolean
  readonly agreedConcurrency: boolean
  readonly next: NextTerms | undefined
}

/** An account's limits after a change of the plans. `periodEnd` is undefined on the trial, which keeps its limits. */
export const limitsAfter = (
  held: HeldLimits,
  terms: TermsTable,
  periodEnd: number | undefined
): Pick<HeldLimits, "quota" | "concurrency" | "next"> => {
  const { agreedConcurrency, agreedQuota, next, plan } = held
  const own = terms[plan]
  const quota = agreedQuota || held.quota === undefined ? held.quota : (own.quota ?? held.quota)
  const concurrency = agreedConcurrency ? held.concurrency : own.concurrency
  const now = {
    quota: quota === undefined || held.quota === undefined ? held.quota : Math.max(quota, held.quota),
    concurrency: Math.max(concurrency, held.concurrency)
  }
  if (next !== undefined && next.plan !== plan) {
    const { quota = next.quota, concurrency } = terms[next.plan]
    return { ...now, next: { ...next, quota, concurrency } }
  }
  const isLower = concurrency < now.concurrency || (quota ?? 0) < (now.quota ?? 0)
  const at = next?.at ?? periodEnd
  return { ...now, next: isLower && at !== undefined ? { plan, quota, concurrency, at } : undefined }
}
