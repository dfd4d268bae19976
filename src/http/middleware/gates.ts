import { Context, Effect, Layer } from "effect"
import { type Principal, rateLimitOf } from "../../domain/accounts/Principal.ts"
import { RateLimited } from "../../domain/errors.ts"
import { CurrentRequest } from "../../domain/requests/CurrentRequest.ts"
import { RateLimiter } from "../../services/credits/RateLimiter.ts"
import { limiterDecisions } from "../../services/telemetry/Metrics.ts"
import { withSpan } from "../../services/telemetry/Tracing.ts"
import { CurrentPrincipal, Gates } from "../Gates.ts"
import { setHeaders } from "../requestState.ts"
import { withDecodedQuery } from "../requests/query.ts"
import { rateLimitHeaders } from "../responses/headers.ts"
import { makeAuthentication } from "./Authentication.ts"

/** Counts the request. Fails with `rate_limited` above the limit. */
export const admit = (limiter: RateLimiter["Service"], principal: Principal): Effect.Effect<void, RateLimited> =>
  Effect.withFiber(({ context }) =>
    Effect.flatMap(
      withSpan("RateLimiter.hit", {}, () => limiter.hit(rateLimitOf(principal))),
      (decision) => {
        const { admitted, limit, retryAfterSeconds } = decision
        limiterDecisions.of(principal._tag, admitted ? "admitted" : "refused").updateUnsafe(1, context)
        setHeaders(Context.get(context, CurrentRequest), rateLimitHeaders(decision))
        return admitted ? Effect.void : Effect.fail(RateLimited.of(limit, retryAfterSeconds))
      }
    )
  )

/** Checks the credential and then the rate limit, before any decoding (R1). */
export const layer = Layer.effect(
  Gates,
  Effect.gen(function* () {
    const authenticate = yield* makeAuthentication
    const limiter = yield* RateLimiter
    const admitted = Effect.flatMap(CurrentPrincipal, (principal) => admit(limiter, principal))
    return (httpEffect, { endpoint }) => authenticate(Effect.andThen(admitted, withDecodedQuery(httpEffect)), endpoint)
  })
)
