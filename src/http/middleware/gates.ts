import { Context, Effect, Layer } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { type Principal, rateLimitOf } from "../../domain/accounts/Principal.ts"
import { forbiddenTo } from "../../domain/accounts/Role.ts"
import {
  type Forbidden,
  type FreshSignInRequired,
  freshSignInRequired,
  RateLimited,
  secondFactorRequired
} from "../../domain/errors.ts"
import { CurrentRequest } from "../../domain/requests/CurrentRequest.ts"
import { RateLimiter } from "../../services/credits/RateLimiter.ts"
import { limiterDecisions } from "../../services/telemetry/Metrics.ts"
import { withSpan } from "../../services/telemetry/Tracing.ts"
import { allowedRoles, NeedsFreshSignIn } from "../Callers.ts"
import { apiErrorResponse } from "../errors.ts"
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

/** Refuses a session's person by role, or because they signed in too long ago (R66, R67). */
const denialOf = (endpoint: HttpApiEndpoint.Top) => {
  const roles = allowedRoles(endpoint)
  const needsFresh = Context.get(endpoint.annotations, NeedsFreshSignIn)
  return (principal: Principal): Forbidden | FreshSignInRequired | undefined => {
    if (principal._tag !== "session") return undefined
    if (principal.needsSecondFactor) return secondFactorRequired
    if (!roles.includes(principal.role)) return forbiddenTo(principal.role, roles)
    return needsFresh && !principal.isFresh ? freshSignInRequired : undefined
  }
}

/** Checks the credential, the rate limit and the role, before any decoding (R1). */
export const layer = Layer.effect(
  Gates,
  Effect.gen(function* () {
    const authenticate = yield* makeAuthentication
    const limiter = yield* RateLimiter
    return (httpEffect, { endpoint }) => {
      const denied = denialOf(endpoint)
      const admitted = Effect.flatMap(CurrentPrincipal, (principal) => {
        const denial = denied(principal)
        const handled = denial === undefined ? withDecodedQuery(httpEffect) : apiErrorResponse(denial)
        return Effect.andThen(admit(limiter, principal), handled)
      })
      return authenticate(admitted, endpoint)
    }
  })
)
