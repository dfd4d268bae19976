import { Effect, Metric } from "effect"
import { RateLimited } from "../../domain/errors.ts"
import { CurrentRequest } from "../../domain/requests/CurrentRequest.ts"
import type { RateLimiter } from "../../services/credits/RateLimiter.ts"
import { limiterDecisions } from "../../services/telemetry/Metrics.ts"
import { setHeaders } from "../requestState.ts"
import { rateLimitHeaders } from "../responses/headers.ts"

/** Per account and rolling minute (R53). Each sends a request to a chosen URL, with retries for three days. */
export const deliveriesPerMinute = 12

export const limitDeliveries = Effect.fnUntraced(function* (limiter: RateLimiter["Service"], accountId: string) {
  const decision = yield* limiter.hit({ credential: `deliveries:${accountId}`, limit: deliveriesPerMinute })
  const { admitted, limit, retryAfterSeconds } = decision
  yield* Metric.update(limiterDecisions.of("delivery", admitted ? "admitted" : "refused"), 1)
  if (admitted) return
  setHeaders(yield* CurrentRequest, rateLimitHeaders(decision))
  yield* Effect.annotateLogs(Effect.logInfo("Rate limited a webhook test or redelivery"), { account_id: accountId })
  return yield* new RateLimited({
    message:
      `The account has reached its limit of ${limit} webhook tests and redeliveries per minute. Try again in ` +
      `${retryAfterSeconds} seconds.`,
    retryAfterSeconds
  })
})
