import type { Answer, Key, Usage } from "../api/routes.ts"
import { failures } from "./figures.ts"
import { groupsOf } from "./usageFigures.ts"

export type Problem =
  | { readonly _tag: "exhausted"; readonly resetsAt: string | null }
  | { readonly _tag: "low"; readonly left: number; readonly share: number }
  | { readonly _tag: "failures"; readonly failed: number; readonly searches: number; readonly target?: string }
  | { readonly _tag: "webhook"; readonly id: string; readonly url: string; readonly isDisabled: boolean }
  | { readonly _tag: "expiring"; readonly id: string; readonly name: string; readonly at: string }
  | { readonly _tag: "pastDue" }
  | { readonly _tag: "pending"; readonly at: string | null }
  | { readonly _tag: "ending"; readonly at: string }

export interface Facts {
  readonly usage: Usage | undefined
  readonly today: Usage | undefined
  readonly keys: ReadonlyArray<Key>
  readonly webhooks: Answer<"GET /v1/webhooks">["webhooks"]
  readonly billing: Answer<"GET /v1/billing"> | undefined
}

const lowShare = 0.1
const failingShare = 0.05
/** One failure of a few searches is not a trend. */
const minSearches = 20
const expiringMs = 7 * 86_400_000

const creditProblems = ({ usage }: Facts): ReadonlyArray<Problem> => {
  if (usage === undefined || usage.quota === null || usage.remaining === null) return []
  const left = usage.remaining + usage.balance
  if (left <= 0) return [{ _tag: "exhausted", resetsAt: usage.resets_at }]
  const share = left / Math.max(1, usage.quota)
  return share < lowShare ? [{ _tag: "low", left, share }] : []
}

/** The target of at least half of the failures. */
const failingTarget = ({ series }: Usage, failed: number): string | undefined => {
  const worst = groupsOf(series).find((group) => failures(group) * 2 >= failed)
  return worst?.id ?? undefined
}

const searchProblems = ({ today }: Facts): ReadonlyArray<Problem> => {
  if (today === undefined || today.totals.searches < minSearches) return []
  const failed = failures(today.totals)
  if (failed / today.totals.searches <= failingShare) return []
  const target = failingTarget(today, failed)
  return [{ _tag: "failures", failed, searches: today.totals.searches, ...(target && { target }) }]
}

const billingProblems = ({ billing }: Facts): ReadonlyArray<Problem> => {
  const subscription = billing?.subscription
  if (subscription === null || subscription === undefined) return []
  if (subscription.status === "past_due") return [{ _tag: "pastDue" }]
  if (subscription.cancel_at_period_end) return [{ _tag: "ending", at: subscription.current_period_end }]
  return subscription.pending_plan === null ? [] : [{ _tag: "pending", at: subscription.pending_at }]
}

export const problemsOf = (facts: Facts, now: number): ReadonlyArray<Problem> => [
  ...creditProblems(facts),
  ...billingProblems(facts).filter(({ _tag }) => _tag === "pastDue"),
  ...searchProblems(facts),
  ...facts.webhooks.flatMap(
    ({ disabled_reason: reason, failing_since: since, id, url }): ReadonlyArray<Problem> =>
      reason === "failing" || reason === "gone" || (reason === null && since !== null)
        ? [{ _tag: "webhook", id, url, isDisabled: reason !== null }]
        : []
  ),
  ...facts.keys.flatMap(({ expires_at: at, id, name, revoked_at: revoked }): ReadonlyArray<Problem> => {
    const left = at === null ? Number.POSITIVE_INFINITY : Date.parse(at) - now
    return at !== null && revoked === null && left > 0 && left < expiringMs ? [{ _tag: "expiring", id, name, at }] : []
  }),
  ...billingProblems(facts).filter(({ _tag }) => _tag !== "pastDue")
]
