import { remaining } from "../../domain/credits/Allowance.ts"
import type { Receipt } from "../../services/charging/Metering.ts"
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

/** The credits of a response. A streamed batch knows its cost and the balance only at its end (R46). */
export type Spent = Pick<Receipt, "before" | "isReplay"> & Partial<Pick<Receipt, "creditsUsed" | "balance">>

export const quotaHeaders = ({ balance, before, creditsUsed, isReplay }: Spent): Readonly<Record<string, string>> => {
  const cost = {
    ...(creditsUsed === undefined ? {} : { "x-credits-used": String(creditsUsed) }),
    ...(isReplay ? { "idempotent-replayed": "true" } : {})
  }
  return before?.quota === undefined
    ? cost
    : {
        ...cost,
        "x-quota-limit": String(before.quota),
        "x-quota-used": String(before.used),
        "x-quota-remaining": String(remaining(before)),
        ...(balance === undefined ? {} : { "x-credits-balance": String(balance) }),
        ...(before.resetsAt === undefined ? {} : { "x-quota-reset": seconds(before.resetsAt) })
      }
}
