import { Effect, Layer } from "effect"
import { HttpEffect, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { authPath } from "../../domain/accounts/OAuth.ts"
import { Deployment } from "../../services/operations/Deployment.ts"
import { exposedHeaders } from "../headerNames.ts"

/** CORS for the demo and the operator's origins (R48). Credentials are never allowed, so pages cannot use cookies. */

/** The demo's origin may call only the API. GET and DELETE of `/mcp` are there for clients to learn that it has none. */
const corsRoutes = [
  { path: "/v1/query", methods: ["GET"], isApi: true },
  { path: "/v1/bulk", methods: ["POST"], isApi: true },
  { path: "/v1/me", methods: ["GET"], isApi: true },
  { path: "/mcp", methods: ["POST", "GET", "DELETE"], isApi: false },
  { path: `${authPath}/oauth2/register`, methods: ["POST"], isApi: false },
  { path: `${authPath}/oauth2/token`, methods: ["POST"], isApi: false }
] as const

type CorsRoute = (typeof corsRoutes)[number]

const requestHeaders = [
  "Authorization",
  "Content-Type",
  "Idempotency-Key",
  "Traceparent",
  "Tracestate",
  "X-Demo-Origin",
  "X-Request-Id"
]

/** Headers that MCP clients send and read, besides those of the API. */
const appRequestHeaders = ["Last-Event-Id", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id"]
const appExposedHeaders = ["Mcp-Protocol-Version", "Mcp-Session-Id"]

/** Two hours, the maximum that Chromium accepts. */
const maxAgeSeconds = 7200

const listOf = (headers: ReadonlyArray<string>, more: ReadonlyArray<string>, { isApi }: CorsRoute): string =>
  [...headers, ...(isApi ? [] : more)].join(", ")

type Origins = (route: CorsRoute) => ReadonlySet<string>

const allows = ({ methods }: CorsRoute, method: string | undefined): boolean =>
  methods.some((allowed) => allowed === method)

const routeFor = ({ method, url }: HttpServerRequest.HttpServerRequest): CorsRoute | undefined => {
  const [path] = url.split("?", 1)
  return corsRoutes.find((route) => route.path === path && allows(route, method))
}

const varyByOrigin = (response: HttpServerResponse.HttpServerResponse) => {
  const { vary } = response.headers
  return HttpServerResponse.setHeader(response, "vary", vary === undefined ? "Origin" : `${vary}, Origin`)
}

const addHeaders =
  (origins: Origins): HttpEffect.PreResponseHandler =>
  (request, response) => {
    const route = routeFor(request)
    if (route === undefined) return Effect.succeed(response)
    const { origin } = request.headers
    const varying = varyByOrigin(response)
    if (origin === undefined || !origins(route).has(origin)) return Effect.succeed(varying)
    const headers = {
      "access-control-allow-origin": origin,
      "access-control-expose-headers": listOf(exposedHeaders, appExposedHeaders, route)
    }
    return Effect.succeed(HttpServerResponse.setHeaders(varying, headers))
  }

/** Runs before authentication, because preflights have no credential. Unknown preflights get 404. */
const preflight = (origins: ReadonlySet<string>, route: CorsRoute) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const { "access-control-request-method": method, origin } = request.headers
    if (origin === undefined || !origins.has(origin) || !allows(route, method)) {
      return Effect.fail(
        new HttpServerError.HttpServerError({ reason: new HttpServerError.RouteNotFound({ request }) })
      )
    }
    const headers = {
      "access-control-allow-origin": origin,
      "access-control-allow-methods": route.methods.join(", "),
      "access-control-allow-headers": listOf(requestHeaders, appRequestHeaders, route),
      "access-control-max-age": String(maxAgeSeconds),
      vary: "Origin"
    }
    return Effect.succeed(HttpServerResponse.empty({ status: 204, headers }))
  })

export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const { corsOrigins, demoOrigin } = yield* Deployment
    const forApps = new Set(corsOrigins)
    const forApi = new Set(demoOrigin === undefined ? corsOrigins : [...corsOrigins, demoOrigin])
    if (forApi.size === 0) return Layer.empty
    const origins: Origins = ({ isApi }) => (isApi ? forApi : forApps)
    const handler = addHeaders(origins)
    return Layer.mergeAll(
      HttpRouter.middleware((app) => HttpEffect.withPreResponseHandler(app, handler), { global: true }),
      ...corsRoutes.map((route) => HttpRouter.add("OPTIONS", route.path, preflight(origins(route), route)))
    )
  })
)
