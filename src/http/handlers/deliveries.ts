import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { InvalidRequest, Unauthorized } from "../../domain/errors.ts"
import { Billing } from "../../services/Billing.ts"
import { RateLimiter } from "../../services/RateLimiter.ts"
import { type BodyLimit, readBytes } from "../body.ts"
import { apiErrorResponse } from "../errors.ts"
import { limitDeliveries } from "../middleware/addressLimit.ts"
import { withRetryAfter } from "../retryAfter.ts"

/** The largest delivery that is read: the provider's are a few kilobytes, and each costs four digests of its bytes. */
const deliveryLimit: BodyLimit = {
  bytes: 256 * 1024,
  error: InvalidRequest.whole("the body is larger than 256 KiB")
}

/** The same for every fault of a delivery, so that whoever forges one learns nothing. */
const notTheProvider = new Unauthorized({ message: "The delivery is not signed by the payment provider." })

/**
 * Takes the payment provider's deliveries (R37, R47). The signature is over the bytes as they came, so that nothing here
 * reads them. A forged delivery costs its digests and leaves its line in the access log; a limit for each client address
 * comes before them.
 */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const billing = yield* Billing
    const limiter = yield* RateLimiter

    const receive = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      yield* limitDeliveries(limiter)
      const body = yield* readBytes(request, "anonymous", deliveryLimit)
      yield* withRetryAfter(billing.receive(request.headers, body))
      return HttpServerResponse.empty({ status: 202 })
    }).pipe(
      Effect.catchTag("DeliveryInvalid", () => Effect.fail(notTheProvider)),
      Effect.catchTag(["billing_unavailable", "invalid_request", "rate_limited", "unauthorized"], apiErrorResponse)
    )

    return HttpRouter.add("POST", "/webhooks/billing", receive)
  })
)
