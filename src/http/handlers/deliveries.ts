import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { InvalidRequest, Unauthorized } from "../../domain/errors.ts"
import { TrustedProxies } from "../../services/accounts/TrustedProxies.ts"
import { Billing } from "../../services/billing/Billing.ts"
import { RateLimiter } from "../../services/credits/RateLimiter.ts"
import { apiErrorResponse } from "../errors.ts"
import { limitDeliveries } from "../middleware/addressLimit.ts"
import { type BodyLimit, readBytes } from "../requests/body.ts"
import { withRetryAfter } from "../responses/retryAfter.ts"

/** Real deliveries are a few kilobytes, and each byte is hashed four times. */
const deliveryLimit: BodyLimit = {
  bytes: 256 * 1024,
  error: InvalidRequest.whole("the body is larger than 256 KiB")
}

/** Identical for every fault, so that forged deliveries reveal nothing. */
const notTheProvider = new Unauthorized({ message: "The payment provider's signature is missing or invalid." })

/** Raw, because the signature covers the bytes (R37). Rate-limited first, because checking a forgery costs CPU. */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const billing = yield* Billing
    const limiter = yield* RateLimiter
    const proxies = yield* TrustedProxies

    const receive = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      yield* limitDeliveries(limiter)
      const body = yield* readBytes(request, "anonymous", deliveryLimit)
      yield* withRetryAfter(billing.receive(request.headers, body))
      return HttpServerResponse.empty({ status: 202 })
    }).pipe(
      Effect.provideService(TrustedProxies, proxies),
      Effect.catchTag("DeliveryInvalid", () => Effect.fail(notTheProvider)),
      Effect.catchTag(["billing_unavailable", "invalid_request", "rate_limited", "unauthorized"], apiErrorResponse)
    )

    return HttpRouter.add("POST", "/webhooks/billing", receive)
  })
)
