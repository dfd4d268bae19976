import { Clock, Effect, Layer } from "effect"
import { type PlanTable, periodAt, standardPlans } from "../domain/credits/Plan.ts"
import { isInForce, limitsAfter } from "../domain/credits/PlanHistory.ts"
import { PlanBooks } from "../services/credits/PlanBooks.ts"
import { Plans } from "../services/credits/Plans.ts"
import { MemoryStore, planHistory, type StoredAccount } from "./MemoryStore.ts"

const enact = (store: MemoryStore["Service"], own: PlanTable, now: number): void => {
  const { planVersions } = store
  if (planVersions.length === 0) planVersions.push({ since: 0, terms: standardPlans })
  if (!isInForce(own, planHistory(store, own))) planVersions.push({ since: now, terms: own })
}

/**
 * Applies the limits of its plan to one account. A plan change that is due is left to the next search. Returns true if
 * it changed.
 */
const change = (stored: StoredAccount, own: PlanTable, now: number): boolean => {
  const { account, allowance } = stored
  const { agreedConcurrency = false, agreedQuota = false, next, ...kept } = account
  if (next !== undefined && next.at <= now) return false
  const { period } = allowance
  const isRunning = period === undefined || period.end > now
  const end = period !== undefined && isRunning ? period.end : periodAt(account.plan, account.cycleStart, now)?.end
  const held = { ...kept, agreedConcurrency, agreedQuota, next }
  const { next: after, ...limits } = limitsAfter(held, own, end)
  const gained = (limits.quota ?? 0) - (account.quota ?? 0)
  // A trial whose mailbox has already used its grant in another account has a separate scope, and gains nothing (R32).
  const isGranted = !allowance.scope.endsWith(`:${account.id}`)
  if (isRunning && isGranted && allowance.quota !== undefined) allowance.quota += gained
  const { next: _, ...before } = account
  stored.account = { ...before, ...limits, ...(after === undefined ? {} : { next: after }) }
  return (
    JSON.stringify([account.quota, account.concurrency, next]) !==
    JSON.stringify([limits.quota, limits.concurrency, after])
  )
}

export const layer: Layer.Layer<PlanBooks, never, MemoryStore> = Layer.effect(
  PlanBooks,
  Effect.gen(function* () {
    const store = yield* MemoryStore
    const own = yield* Plans
    return PlanBooks.of({
      enact: Effect.map(Clock.currentTimeMillis, (now) => enact(store, own, now)),
      apply: Effect.map(Clock.currentTimeMillis, (now) =>
        isInForce(own, planHistory(store, own))
          ? [...store.accounts.values()].filter((stored) => change(stored, own, now)).length
          : 0
      )
    })
  })
)
