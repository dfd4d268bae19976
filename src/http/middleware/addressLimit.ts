import { Effect, Metric } from "effect"
import { RateLimited } from "../../domain/errors.ts"
import { limiterDecisions } from "../../services/Metrics.ts"
import type { RateLimiter } from "../../services/RateLimiter.ts"
import { CurrentRequest, setHeaders } from "../CurrentRequest.ts"
import { clientAddress } from "./clientAddress.ts"

/**
 * The most requests with a body and without a credential from one client address in a rolling minute. It is enough for
 * an office behind one address. The sign-in library has lower limits of its own against password guessing.
 */
export const requestsPerMinuteOfAddress = 120

/**
 * Counts a request by its client's address, and fails with `Retry-After` where it exceeds the limit (R27). Routes that
 * take a body without a credential call it before they buffer any of the body.
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
