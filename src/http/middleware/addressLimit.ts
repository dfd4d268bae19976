import { Effect, Metric } from "effect"
import { RateLimited } from "../../domain/errors.ts"
import type { RateLimit } from "../../domain/Principal.ts"
import { limiterDecisions } from "../../services/Metrics.ts"
import type { RateLimiter } from "../../services/RateLimiter.ts"
import { CurrentRequest, setHeaders } from "../CurrentRequest.ts"
import { clientAddress, senderAddress } from "./clientAddress.ts"

/**
 * The most requests with a body and without a credential from one client address in a rolling minute. It is enough for
 * an office behind one address. The sign-in library has lower limits of its own against password guessing.
 */
export const requestsPerMinuteOfAddress = 120

/** Counts a request in one counter, and fails with `Retry-After` where it exceeds the limit (R27). */
const count = Effect.fnUntraced(function* (limiter: RateLimiter["Service"], caller: string, rate: RateLimit) {
  const { admitted, limit, retryAfterSeconds } = yield* limiter.hit(rate)
  yield* Metric.update(limiterDecisions.of(caller, admitted ? "admitted" : "refused"), 1)
  if (admitted) return
  setHeaders(yield* CurrentRequest, { "retry-after": String(retryAfterSeconds) })
  return yield* Effect.fail(RateLimited.of(limit, retryAfterSeconds))
})

/**
 * Counts a request by its client's address. Routes that take a body without a credential call it before they buffer any
 * of the body.
 */
export const limitByAddress = Effect.fnUntraced(function* (limiter: RateLimiter["Service"]) {
  const network = yield* clientAddress
  if (network === undefined) return
  return yield* count(limiter, "address", { credential: `address:${network}`, limit: requestsPerMinuteOfAddress })
})

/**
 * The most deliveries of payments from one sender in a rolling minute, before their signatures are checked. The provider
 * sends a few for each payment, and each at most 10 times in 17 minutes and more.
 */
export const deliveriesPerMinuteOfSender = 600

/** The most deliveries from one client address, where a proxy that is not trusted says that it has several senders. */
export const deliveriesPerMinuteOfAddress = 6_000

/**
 * Counts a delivery by its sender. Behind a proxy that `TRUSTED_PROXY_HOPS` leaves out, everybody has the proxy's address.
 * So that a stranger there cannot use up what the provider needs, the sender is the address which that proxy appended. A
 * caller without a proxy can invent that address: the second counter limits what this gains.
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
