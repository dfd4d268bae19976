import { type Allowance, remaining } from "../domain/Account.ts"
import type { QuotaExceeded } from "../domain/errors.ts"
import type { Receipt } from "../services/Metering.ts"
import type { RateLimitDecision } from "../services/RateLimiter.ts"

export const rateLimitHeaders = (decision: RateLimitDecision): Readonly<Record<string, string>> => ({
  "x-ratelimit-limit": String(decision.limit),
  "x-ratelimit-remaining": String(decision.remaining),
  "x-ratelimit-reset": String(decision.resetAtSeconds),
  ...(decision.admitted ? {} : { "retry-after": String(decision.retryAfterSeconds) })
})

const seconds = (millis: number): string => String(Math.ceil(millis / 1000))

/** Headers with the cost of a response and the quota before it. Without a quota, only the cost (R23, R24). */
export const quotaHeaders = ({ balance, before, creditsUsed }: Receipt): Readonly<Record<string, string>> =>
  before?.quota === undefined
    ? { "x-credits-used": String(creditsUsed) }
    : {
        "x-credits-used": String(creditsUsed),
        "x-quota-limit": String(before.quota),
        "x-quota-used": String(before.used),
        "x-quota-remaining": String(remaining(before)),
        "x-credits-balance": String(balance),
        ...(before.resetsAt === undefined ? {} : { "x-quota-reset": seconds(before.resetsAt) })
      }

/** The quota headers of a 402: nothing was spent. */
export const quotaErrorHeaders = (error: QuotaExceeded): Readonly<Record<string, string>> => {
  const before: Allowance = {
    plan: error.plan,
    quota: error.quota,
    used: error.creditsUsed,
    balance: error.balance,
    periodStart: undefined,
    resetsAt: error.resetsAt ?? undefined
  }
  return quotaHeaders({ creditsUsed: 0, before, balance: error.balance })
}
