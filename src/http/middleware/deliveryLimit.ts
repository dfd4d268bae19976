import { Effect, Metric } from "effect"
import { RateLimited } from "../../domain/errors.ts"
import { limiterDecisions } from "../../services/Metrics.ts"
import type { RateLimiter } from "../../services/RateLimiter.ts"
import { CurrentRequest, setHeaders } from "../CurrentRequest.ts"
import { rateLimitHeaders } from "../headers.ts"

/**
 * The tests and redeliveries of webhooks that an account may ask for, together, in a rolling minute (R53). Each is posted to
 * an address that the account chose, and again for three days if it fails.
 */
export const deliveriesPerMinute = 12

/** Counts a test or a redelivery, and fails with `rate_limited` where it exceeds the account's limit. */
export const limitDeliveries = Effect.fnUntraced(function* (limiter: RateLimiter["Service"], accountId: string) {
  const decision = yield* limiter.hit({ credential: `deliveries:${accountId}`, limit: deliveriesPerMinute })
  const { admitted, limit, retryAfterSeconds } = decision
  yield* Metric.update(limiterDecisions.of("delivery", admitted ? "admitted" : "refused"), 1)
  if (admitted) return
  setHeaders(yield* CurrentRequest, rateLimitHeaders(decision))
  yield* Effect.annotateLogs(Effect.logInfo("Refused a test or a redelivery of a webhook"), { account_id: accountId })
  return yield* new RateLimited({
    message:
      `The account has asked for ${limit} tests and redeliveries in the last minute, which is the most. Try again in ` +
      `${retryAfterSeconds} seconds.`,
    retryAfterSeconds
  })
})
