import type { Reply } from "./Exchange.ts"
import { largestHeadersBytes, type RandomRequest } from "./hostile/RandomRequests.ts"

interface Row {
  readonly id?: unknown
  readonly status?: string
  readonly error?: string
  readonly results?: ReadonlyArray<Row>
}

interface Message {
  readonly result?: { readonly structuredContent?: Row; readonly _meta?: { readonly "quarry/error"?: Row } }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The path as the router sees it. In a request to a proxy, the origin precedes it. */
const routeOf = ({ path }: RandomRequest): string => path.replace(/^https?:\/\/[^/]*/, "").replace(/\?.*$/s, "")

const isCharged = ({ error, status }: Row): boolean =>
  status === "ok" || error === "upstream_error" || error === "upstream_timeout"

const chargedByTool = ({ result }: Message): number => {
  const failure = result?._meta?.["quarry/error"]
  if (failure !== undefined) return isCharged(failure) ? 1 : 0
  const found = result?.structuredContent
  if (found === undefined) return 0
  const rows = found.results ?? []
  return "batch_id" in found ? rows.filter(isCharged).length : "id" in found ? 1 : 0
}

/** The cost stated in the response: in a header, or in the result of a tool. */
export const creditsOf = (request: RandomRequest, { headers, text }: Reply): number => {
  const used = headers["x-credits-used"]
  if (used !== undefined || routeOf(request) !== "/mcp") return Number(used ?? 0)
  const messages = text.split("\n").map((line) => parsed(line.replace(/^data: /, "")))
  return messages
    .flat()
    .filter((it): it is Message => typeof it === "object" && it !== null)
    .reduce((sum, it) => sum + chargedByTool(it), 0)
}

/** True if errors have a different format there: pages, OAuth (RFC 6749 section 5.2), JSON-RPC. */
const hasOwnForm = (request: RandomRequest, { headers, text }: Reply): boolean => {
  const path = routeOf(request)
  if (/^\/(?:oauth|dashboard)\/|\/unsubscribe$/.test(path))
    return String(headers["content-type"]).startsWith("text/html")
  const body = parsed(text)
  if (typeof body !== "object" || body === null) return false
  if (path === "/mcp") return "jsonrpc" in body
  if (path.startsWith("/compat/tavily")) return "detail" in body
  return path.startsWith("/api/auth/oauth2/") && "error" in body && !("request_id" in body)
}

const isEnvelope = (text: string, requestId: unknown): boolean => {
  const body = parsed(text)
  return (
    typeof body === "object" &&
    body !== null &&
    "error" in body &&
    typeof body.error === "string" &&
    "message" in body &&
    typeof body.message === "string" &&
    "request_id" in body &&
    body.request_id === requestId
  )
}

/** Paths are compared as written (R3): with `;`, `#` or unnecessary encoding it is a different path. */
const isRespelled = (path: string): boolean => /[;#]|%(?:2[de]|3\d|[46][1-9a-f]|[57][0-9a]|5f|7e)/i.test(path)

export const headerBytes = ({ headers, path }: RandomRequest): number =>
  headers.reduce((sum, [name, value]) => sum + name.length + value.length + 4, path.length)

/** Describes what is wrong with a response to any request. Undefined if nothing is. */
export const faultOf = (request: RandomRequest, reply: Reply): string | undefined => {
  const { headers, status, text } = reply
  if (status === undefined) {
    // Oversized requests are rejected and their connection is closed before all of it was sent.
    const isTooLarge = headerBytes(request) > largestHeadersBytes || (request.body?.length ?? 0) > 1_048_576
    return isTooLarge ? undefined : `no answer (${reply.error})`
  }
  const isSearch = /^\/(v1\/query$|compat\/)/.test(routeOf(request)) && (status === 502 || status === 504)
  // Nothing is sold on this deployment.
  const isPurchase =
    status === 503 && /^\/(v1|webhooks)\/billing\b/.test(routeOf(request)) && text.includes('"billing_unavailable"')
  if (status >= 500 && !isSearch && !isPurchase) return `${status} ${text.slice(0, 200)}`
  // The private listener is not part of the API.
  if (request.listener === "private") return undefined
  // A 400 comes from the HTTP parser, which does not know routes.
  if (isRespelled(routeOf(request)) && status !== 404 && status !== 400)
    return `${status} at another spelling of a path`
  const requestId = headers["x-request-id"]
  if (typeof requestId !== "string" || requestId === "") return `${status} without X-Request-Id`
  if (status >= 400 && creditsOf(request, reply) > 0 && !isSearch) return `${status} is charged`
  if (status < 400 || request.method === "HEAD" || hasOwnForm(request, reply)) return undefined
  return isEnvelope(text, requestId) ? undefined : `${status} without the envelope: ${text.slice(0, 200)}`
}

const searchRoutes = /^\/(?:v1\/(?:query|bulk)$|mcp$|compat\/)/

/** Counts the searches that a request ran, including free ones of the demo and of test keys. */
export const searchesOf = (request: RandomRequest, reply: Reply): number => {
  if (!searchRoutes.test(routeOf(request))) return 0
  const rows = reply.text.match(/"status":"/g)?.length ?? 0
  return Math.max(creditsOf(request, reply), rows, reply.status === 200 ? 1 : 0)
}
