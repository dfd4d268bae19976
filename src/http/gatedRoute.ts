import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { RateLimiter } from "../services/RateLimiter.ts"
import type { ApiError } from "./errors.ts"
import { makeAuthentication } from "./middleware/Authentication.ts"
import { limited } from "./middleware/RateLimiting.ts"

/**
 * Makes routes for the endpoints of searches: each stands behind the gates of R1, and its handler decodes the request and
 * makes the response itself. `HttpApiBuilder` would make them slower: it merges the context of the endpoint's group into
 * that of each request, and encodes errors by their schemas (docs/machinery.md).
 */
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
    // The cast: each path of a definition begins with a slash, which `Top` does not say.
    const path = endpoint.path as HttpRouter.PathInput
    return HttpRouter.route(endpoint.method, path, authenticate(limited(limiter, handled), endpoint))
  }
})
