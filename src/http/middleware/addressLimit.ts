import { Effect, Metric } from "effect"
import type { RateLimit } from "../../domain/accounts/Principal.ts"
import { RateLimited } from "../../domain/errors.ts"
import { CurrentRequest } from "../../domain/requests/CurrentRequest.ts"
import type { RateLimiter } from "../../services/credits/RateLimiter.ts"
import { limiterDecisions } from "../../services/telemetry/Metrics.ts"
import { setHeaders } from "../requestState.ts"
import { clientAddress, senderAddress } from "./clientAddress.ts"

/** For requests with a body and no credential, per rolling minute. Enough for an office behind one address. */
export const requestsPerMinuteOfAddress = 120

const count = Effect.fnUntraced(function* (limiter: RateLimiter["Service"], caller: string, rate: RateLimit) {
  const { admitted, limit, retryAfterSeconds } = yield* limiter.hit(rate)
  yield* Metric.update(limiterDecisions.of(caller, admitted ? "admitted" : "refused"), 1)
  if (admitted) return
  setHeaders(yield* CurrentRequest, { "retry-after": String(retryAfterSeconds) })
  return yield* Effect.fail(RateLimited.of(limit, retryAfterSeconds))
})

/** Counts a request by client address. Routes without authentication call it before they buffer the body. */
export const limitByAddress = Effect.fnUntraced(function* (limiter: RateLimiter["Service"]) {
  const network = yield* clientAddress
  if (network === undefined) return
  return yield* count(limiter, "address", { credential: `address:${network}`, limit: requestsPerMinuteOfAddress })
})

/** Apps of many people register and refresh tokens from the few addresses of a hosted platform. */
export const appRequestsPerMinuteOfAddress = 6_000

/** Counts a request of an app by client address. What fails is counted more strictly where it fails. */
export const limitAppsByAddress = Effect.fnUntraced(function* (limiter: RateLimiter["Service"]) {
  const network = yield* clientAddress
  if (network === undefined) return
  return yield* count(limiter, "address", { credential: `app:${network}`, limit: appRequestsPerMinuteOfAddress })
})

/** Counted before the signature is checked. The provider sends a few per payment, each with at most 10 retries. */
export const deliveriesPerMinuteOfSender = 600

/** Payment webhooks per client address, where an untrusted proxy reports several senders. */
export const deliveriesPerMinuteOfAddress = 6_000

/**
 * Behind a proxy that `TRUSTED_PROXY_HOPS` omits, all clients share an address, so a delivery counts for the address
 * that the proxy appended. That address can be forged; the second counter limits the damage.
 */
export const limitDeliveries = Effect.fnUntraced(function* (limiter: RateLimiter["Service"]) {
  const network = yield* clientAddress
  const sender = yield* senderAddress
  if (network === undefined || sender === undefined) return
  yield* count(limiter, "delivery", {
    credential: `delivery:${network}:${sender}`,
    limit: deliveriesPerMinuteOfSender
  })
  if (sender === network) return
  yield* count(limiter, "delivery", { credential: `delivery:${network}`, limit: deliveriesPerMinuteOfAddress })
})
