import { Effect, Layer } from "effect"
import { HttpEffect, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Deployment } from "../../services/Deployment.ts"
import { exposedHeaders } from "../headers.ts"

/**
 * Lets pages of the origins that the operator lists, and of the demo's, call the API from a browser (R48). No response
 * allows credentials, so that a browser shows such a page nothing that it asked for with cookies. For every other origin
 * responses are as they are without this layer.
 */

/** The method that pages may call at each path. */
const methods = { "/v1/query": "GET", "/v1/bulk": "POST", "/v1/me": "GET" } as const

type Path = keyof typeof methods

const paths = Object.keys(methods) as ReadonlyArray<Path>

/** Request headers that browsers send only after a preflight. */
const requestHeaders = [
  "Authorization",
  "Content-Type",
  "Idempotency-Key",
  "Traceparent",
  "Tracestate",
  "X-Demo-Origin",
  "X-Request-Id"
]

/** The time for which browsers keep the answer to a preflight: two hours, the most that Chromium takes. */
const maxAgeSeconds = 7200

const exposed = exposedHeaders.join(", ")

type Request = HttpServerRequest.HttpServerRequest

const isForPages = ({ method, url }: Request): boolean => {
  const [path] = url.split("?", 1)
  return paths.some((it) => it === path && methods[it] === method)
}

/** A response with `Origin` in its `Vary`, because a cache may not give it to a page of another origin. */
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

/** Answers a preflight before credential and rate limit, because browsers send none with it. Any other is 404. */
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
