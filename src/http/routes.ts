import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { type Principal, rateLimitOf } from "../domain/accounts/Principal.ts"
import { RateLimited } from "../domain/errors.ts"
import { RateLimiter } from "../services/credits/RateLimiter.ts"
import { limiterDecisions } from "../services/telemetry/Metrics.ts"
import { withSpan } from "../services/telemetry/Tracing.ts"
import { CurrentRequest, setHeaders } from "./CurrentRequest.ts"
import type { ApiError } from "./errors.ts"
import { CurrentPrincipal, Gates } from "./Gates.ts"
import { makeAuthentication } from "./middleware/Authentication.ts"
import { withDecodedQuery } from "./requests/query.ts"
import { rateLimitHeaders } from "./responses/headers.ts"

type Response = HttpServerResponse.HttpServerResponse

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
const makeGates = Effect.gen(function* () {
  const authenticate = yield* makeAuthentication
  const limiter = yield* RateLimiter
  const admitted = Effect.flatMap(CurrentPrincipal, (principal) => admit(limiter, principal))
  return <E, R>(httpEffect: Effect.Effect<Response, E, R>, endpoint: HttpApiEndpoint.Top) =>
    authenticate(Effect.andThen(admitted, withDecodedQuery(httpEffect)), endpoint)
})

export const gates = Layer.effect(
  Gates,
  Effect.map(
    makeGates,
    (pass) =>
      (httpEffect, { endpoint }) =>
        pass(httpEffect, endpoint)
  )
)

export type Endpoint = Pick<HttpApiEndpoint.Top, "method" | "path">

/** The handler reads the request itself, with less CPU than `HttpApiBuilder` (docs/internals/machinery.md). */
export const rawRoute = <E, R>({ method, path }: Endpoint, httpEffect: Effect.Effect<Response, E, R>) =>
  // The cast: every endpoint path starts with a slash, which `Top` does not express.
  HttpRouter.route(method, path as HttpRouter.PathInput, httpEffect)

export const makeGatedRoute = Effect.map(
  makeGates,
  (pass) =>
    <R>(
      endpoint: HttpApiEndpoint.Top,
      handler: (request: HttpServerRequest.HttpServerRequest) => Effect.Effect<Response, ApiError, R>
    ) =>
      rawRoute(endpoint, pass(Effect.flatMap(HttpServerRequest.HttpServerRequest, handler), endpoint))
)
