import { Effect, Metric } from "effect"
import { RateLimited } from "../../domain/errors.ts"
import { limiterDecisions } from "../../services/Metrics.ts"
import type { RateLimiter } from "../../services/RateLimiter.ts"
import { CurrentRequest, setHeaders } from "../CurrentRequest.ts"
import { clientAddress } from "./clientAddress.ts"

/**
 * Requests with a body but without a credential that a client address may send in a rolling minute. Enough for the
 * people and apps behind one address of an office; the sign-in library has tighter limits of its own for guesses.
 */
export const requestsPerMinuteOfAddress = 120

/**
 * Counts a request by its client's address, and refuses it with `Retry-After` when it is one too many (R27). For routes
 * that take a body without a credential, before any of it is kept: their senders are known by nothing else.
 */
export const limitByAddress = Effect.fnUntraced(function* (limiter: RateLimiter["Service"]) {
  const network = yield* clientAddress
  if (network === undefined) return
  const { admitted, limit, retryAfterSeconds } = yield* limiter.hit({
    credential: `address:${network}`,
    limit: requestsPerMinuteOfAddress
  })
  yield* Metric.update(limiterDecisions.of("address", admitted ? "admitted" : "refused"), 1)
  if (admitted) return
  setHeaders(yield* CurrentRequest, { "retry-after": String(retryAfterSeconds) })
  return yield* Effect.fail(RateLimited.of(limit, retryAfterSeconds))
})
