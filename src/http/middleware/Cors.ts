import { Effect, Layer, Struct } from "effect"
import { HttpEffect, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Deployment } from "../../services/operations/Deployment.ts"
import { exposedHeaders } from "../responses/headers.ts"

/** CORS for the demo and the operator's origins (R48). Credentials are never allowed, so pages cannot use cookies. */

const methods = { "/v1/query": "GET", "/v1/bulk": "POST", "/v1/me": "GET" } as const

type Path = keyof typeof methods

const paths = Struct.keys(methods)

const requestHeaders = [
  "Authorization",
  "Content-Type",
  "Idempotency-Key",
  "Traceparent",
  "Tracestate",
  "X-Demo-Origin",
  "X-Request-Id"
]

/** Two hours, the maximum that Chromium accepts. */
const maxAgeSeconds = 7200

const exposed = exposedHeaders.join(", ")

type Request = HttpServerRequest.HttpServerRequest

const isForPages = ({ method, url }: Request): boolean => {
  const [path] = url.split("?", 1)
  return paths.some((it) => it === path && methods[it] === method)
}

const varyByOrigin = (response: HttpServerResponse.HttpServerResponse) => {
  const { vary } = response.headers
  return HttpServerResponse.setHeader(response, "vary", vary === undefined ? "Origin" : `${vary}, Origin`)
}

const addHeaders =
  (origins: ReadonlySet<string>): HttpEffect.PreResponseHandler =>
  (request, response) => {
    if (!isForPages(request)) return Effect.succeed(response)
    const { origin } = request.headers
    const varying = varyByOrigin(response)
    if (origin === undefined || !origins.has(origin)) return Effect.succeed(varying)
    const headers = { "access-control-allow-origin": origin, "access-control-expose-headers": exposed }
    return Effect.succeed(HttpServerResponse.setHeaders(varying, headers))
  }

/** Runs before authentication, because preflights have no credential. Unknown preflights get 404. */
const preflight = (origins: ReadonlySet<string>, path: Path) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const { "access-control-request-method": method, origin } = request.headers
    if (origin === undefined || !origins.has(origin) || method !== methods[path]) {
      return Effect.fail(
        new HttpServerError.HttpServerError({ reason: new HttpServerError.RouteNotFound({ request }) })
      )
    }
    const headers = {
      "access-control-allow-origin": origin,
      "access-control-allow-methods": methods[path],
      "access-control-allow-headers": requestHeaders.join(", "),
      "access-control-max-age": String(maxAgeSeconds),
      vary: "Origin"
    }
    return Effect.succeed(HttpServerResponse.empty({ status: 204, headers }))
  })

export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const { corsOrigins, demoOrigin } = yield* Deployment
    const origins = new Set(demoOrigin === undefined ? corsOrigins : [...corsOrigins, demoOrigin])
    if (origins.size === 0) return Layer.empty
    const handler = addHeaders(origins)
    return Layer.mergeAll(
      HttpRouter.middleware((app) => HttpEffect.withPreResponseHandler(app, handler), { global: true }),
      ...paths.map((path) => HttpRouter.add("OPTIONS", path, preflight(origins, path)))
    )
  })
)
