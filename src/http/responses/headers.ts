import { type Allowance, remaining } from "../../domain/credits/Allowance.ts"
import type { QuotaExceeded } from "../../domain/errors.ts"
import type { Receipt } from "../../services/credits/Metering.ts"
import { type RateLimitDecision, windowMs } from "../../services/credits/RateLimiter.ts"

/** The policy name in the `RateLimit` fields of draft-ietf-httpapi-ratelimit-headers-11 (R45). */
const policyName = '"minute"'

const windowSeconds = windowMs / 1000

export const rateLimitHeaders = (decision: RateLimitDecision): Readonly<Record<string, string>> => ({
  "x-ratelimit-limit": String(decision.limit),
  "x-ratelimit-remaining": String(decision.remaining),
  "x-ratelimit-reset": String(decision.resetAtSeconds),
  "ratelimit-policy": `${policyName};q=${decision.limit};w=${windowSeconds}`,
  ratelimit: `${policyName};r=${decision.remaining};t=${decision.retryAfterSeconds}`,
  ...(decision.admitted ? {} : { "retry-after": String(decision.retryAfterSeconds) })
})

const seconds = (millis: number): string => String(Math.ceil(millis / 1000))

export const quotaHeaders = ({ balance, before, creditsUsed, isReplay }: Receipt): Readonly<Record<string, string>> => {
  const cost = { "x-credits-used": String(creditsUsed), ...(isReplay ? { "idempotent-replayed": "true" } : {}) }
  return before?.quota === undefined
    ? cost
    : {
        ...cost,
        "x-quota-limit": String(before.quota),
        "x-quota-used": String(before.used),
        "x-quota-remaining": String(remaining(before)),
        "x-credits-balance": String(balance),
        ...(before.resetsAt === undefined ? {} : { "x-quota-reset": seconds(before.resetsAt) })
      }
}

/** Quota headers of a streamed response. Its cost is not known yet; the summary reports it (R46). */
export const quotaHeadersOf = (before: Allowance | undefined): Readonly<Record<string, string>> => {
  const {
    "x-credits-balance": _,
    "x-credits-used": __,
    ...headers
  } = quotaHeaders({ creditsUsed: 0, before, balance: 0 })
  return headers
}

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
