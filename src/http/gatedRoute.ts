import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { RateLimiter } from "../services/credits/RateLimiter.ts"
import type { ApiError } from "./errors.ts"
import { makeAuthentication } from "./middleware/Authentication.ts"
import { limited } from "./middleware/RateLimiting.ts"

/** Builds routes behind authentication and rate limit (R1), faster than `HttpApiBuilder` (docs/internals/machinery.md). */
export const makeGatedRoute = Effect.gen(function* () {
  const authenticate = yield* makeAuthentication
  const limiter = yield* RateLimiter
  return <R>(
    endpoint: HttpApiEndpoint.Top,
    handler: (
      request: HttpServerRequest.HttpServerRequest
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse, ApiError, R>
  ) => {
    const handled = Effect.flatMap(HttpServerRequest.HttpServerRequest, handler)
    // The cast: every endpoint path starts with a slash, which `Top` does not express.
    const path = endpoint.path as HttpRouter.PathInput
    return HttpRouter.route(endpoint.method, path, authenticate(limited(limiter, handled), endpoint))
  }
})
