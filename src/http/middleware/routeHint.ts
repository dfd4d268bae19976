import { NotFound } from "../../domain/errors.ts"
import { otherMethods } from "./otherMethods.ts"

/** Routes that newcomers look for, with the method of each. The full list is in the OpenAPI document. */
const methods: ReadonlyMap<string, string> = new Map([
  ["/v1/query", "GET"],
  ["/v1/bulk", "POST"],
  ["/v1/page", "GET"],
  ["/v1/pages", "POST"],
  ["/v1/me", "GET"],
  ["/mcp", "POST"],
  ["/docs", "GET"],
  ["/openapi.json", "GET"],
  ["/dashboard", "GET"]
])

/** Names that other search services use. */
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

/** Longer paths are not a slip of the pen, and are not compared. */
const maxPathCharacters = 64

/** The path as it was probably meant: in lower case, without doubled or trailing slashes, and with the version. */
const meant = (path: string): string => {
  const plain = path.toLowerCase().replaceAll(/\/+/g, "/").replace(/\/$/, "")
  if (methods.has(plain)) return plain
  const versioned = `/v1${plain}`
  return methods.has(versioned) ? versioned : (otherNames.get(plain) ?? plain)
}

/** Says which route was probably meant. The status stays 404 (R3). */
const hint = (method: string, path: string): string => {
  if (path.length > maxPathCharacters) return general
  const has = otherMethods(path)
  if (has !== undefined && !has.split(" and ").includes(method))
    return `${path} has no ${method}. It is a ${has} route.`
  const probable = meant(path)
  if (privatePaths.has(probable)) {
    return `${probable} is on the private listener: its port is ADMIN_PORT, 9464 unless the operator changed it.`
  }
  if (probable.startsWith("/compat/")) {
    return "Endpoints below /compat are off unless the operator names them, as in COMPAT=searxng,tavily."
  }
  const right = methods.get(probable)
  if (right === undefined) return general
  if (probable === path && right === method) return general
  return `There is no ${method} ${path}. Did you mean ${right} ${probable}? GET /openapi.json lists the available routes.`
}

export const noRoute = (method: string, path: string): NotFound => new NotFound({ message: hint(method, path) })
