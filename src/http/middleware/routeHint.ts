import type { HttpApiEndpoint } from "effect/http-api"
import { NotFound } from "../../domain/errors.ts"
import { Api } from "../Api.ts"

interface Route {
  readonly pattern: RegExp
  readonly methods: Array<string>
}

const routeOf = (path: string): Route => ({
  pattern: new RegExp(`^${path.replaceAll(/:[^/]+/g, "[^/]+")}$`),
  methods: []
})

const makeRoutes = (): ReadonlyMap<string, Route> => {
  const endpoints = Object.values(Api.groups).flatMap(
    (group): ReadonlyArray<Pick<HttpApiEndpoint.Top, "method" | "path">> => Object.values(group.endpoints)
  )
  const pages = ["/docs", "/openapi.json", "/dashboard"].map((path) => ({ method: "GET" as const, path }))
  const routes = new Map<string, Route>()
  for (const { method, path } of [...endpoints, ...pages]) {
    const route = routes.get(path) ?? routeOf(path)
    route.methods.push(method)
    routes.set(path, route)
  }
  return routes
}

let made: ReadonlyMap<string, Route> | undefined

const allRoutes = (): ReadonlyMap<string, Route> => {
  made ??= makeRoutes()
  return made
}

const otherNames: ReadonlyMap<string, string> = new Map([
  ["/search", "/v1/query"],
  ["/v1/search", "/v1/query"],
  ["/api/search", "/v1/query"],
  ["/res/v1/web/search", "/v1/query"],
  ["/extract", "/v1/page"],
  ["/swagger", "/docs"],
  ["/health", "/healthz"]
])

const privatePaths: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics", "/status", "/providers"])

const general = "There is no route at this address. GET /openapi.json lists the available routes."

/** Longer paths are not typing mistakes, and are not compared. */
const maxPathCharacters = 64

/** The path as probably meant: in lower case, without doubled or trailing slashes, and with the version. */
const meant = (path: string): string => {
  const routes = allRoutes()
  const plain = path.toLowerCase().replaceAll(/\/+/g, "/").replace(/\/$/, "")
  if (routes.has(plain)) return plain
  const versioned = `/v1${plain}`
  return routes.has(versioned) ? versioned : (otherNames.get(plain) ?? plain)
}

const hint = (method: string, path: string): string => {
  if (path.length > maxPathCharacters) return general
  const routes = allRoutes()
  const has = new Set(
    Array.from(routes.values()).flatMap(({ methods, pattern }) => (pattern.test(path) ? methods : []))
  )
  if (has.size > 0 && !has.has(method)) {
    return `${path} has no ${method}. It is a ${[...has].sort().join(" and ")} route.`
  }
  const probable = meant(path)
  if (privatePaths.has(probable)) {
    return `${probable} is on the private listener: its port is ADMIN_PORT, 9464 unless the operator changed it.`
  }
  if (probable.startsWith("/compat/")) {
    return "Endpoints below /compat are off unless the operator names them, as in COMPAT=searxng,tavily."
  }
  const offered = routes.get(probable)?.methods
  if (offered === undefined || (probable === path && offered.includes(method))) return general
  const right = offered.includes(method) ? method : offered[0]
  return `There is no ${method} ${path}. Did you mean ${right} ${probable}? GET /openapi.json lists the available routes.`
}

export const noRoute = (method: string, path: string): NotFound => new NotFound({ message: hint(method, path) })
