import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { RateLimiter } from "../services/credits/RateLimiter.ts"
import type { ApiError } from "./errors.ts"
import { Gates } from "./Gates.ts"
import { makeAuthentication } from "./middleware/Authentication.ts"
import { limited } from "./middleware/RateLimiting.ts"

type Response = HttpServerResponse.HttpServerResponse

/** The order of R1: the credential, the rate limit, and only then any decoding. */
const makeGates = Effect.gen(function* () {
  const authenticate = yield* makeAuthentication
  const limiter = yield* RateLimiter
  return <E, R>(httpEffect: Effect.Effect<Response, E, R>, endpoint: HttpApiEndpoint.Top) =>
    authenticate(limited(limiter, httpEffect), endpoint)
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

/** Serves an endpoint whose handler reads the request itself, with less CPU than `HttpApiBuilder` (docs/machinery.md). */
export const rawRoute = <E, R>({ method, path }: Endpoint, httpEffect: Effect.Effect<Response, E, R>) =>
  // The cast: every endpoint path starts with a slash, which `Top` does not express.
  HttpRouter.route(method, path as HttpRouter.PathInput, httpEffect)

/** Builds raw routes behind the gates. */
export const makeGatedRoute = Effect.map(
  makeGates,
  (pass) =>
    <R>(
      endpoint: HttpApiEndpoint.Top,
      handler: (request: HttpServerRequest.HttpServerRequest) => Effect.Effect<Response, ApiError, R>
    ) =>
      rawRoute(endpoint, pass(Effect.flatMap(HttpServerRequest.HttpServerRequest, handler), endpoint))
)
