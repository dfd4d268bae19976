import { Context, Effect } from "effect"
import type { HttpServerResponse } from "effect/http"
import { type Principal, rateLimitOf } from "../../domain/accounts/Principal.ts"
import { RateLimited } from "../../domain/errors.ts"
import type { RateLimiter } from "../../services/credits/RateLimiter.ts"
import { limiterDecisions } from "../../services/telemetry/Metrics.ts"
import { withSpan } from "../../services/telemetry/Tracing.ts"
import { CurrentRequest, setHeaders } from "../CurrentRequest.ts"
import { CurrentPrincipal } from "../Gates.ts"
import { withDecodedQuery } from "../requests/query.ts"
import { rateLimitHeaders } from "../responses/headers.ts"

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

export const limited = <E, R>(
  limiter: RateLimiter["Service"],
  httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
) =>
  Effect.andThen(
    Effect.flatMap(CurrentPrincipal, (principal) => admit(limiter, principal)),
    withDecodedQuery(httpEffect)
  )
