import fc from "fast-check"
import { routes as offeredRoutes } from "../../../src/layers/auth/betterAuth/LibraryRoutes.ts"
import { type JsonSchema, mutated, type Schemas, valuesOf } from "./schemaValues.ts"

/** Kinds of credentials that a request carries. Two of them contradict each other. */
export const credentials = ["live", "test", "revoked", "garbage", "session", "demo", "marketplace"] as const
export type Credential = (typeof credentials)[number]

/** Placeholders for the ids of a key and of a webhook that may be changed and deleted. */
export const spareKey = "SPARE_KEY"
export const spareHook = "SPARE_HOOK"

/** The private listener is the one on `ADMIN_PORT`. */
export type ListenerName = "public" | "private"

export interface RandomRequest {
  readonly listener: ListenerName
  readonly method: string
  /** Includes the query string, in Latin-1 characters. */
  readonly path: string
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: Buffer | undefined
  readonly as: ReadonlyArray<Credential>
  /** Selects the loopback address that the request comes from. */
  readonly from: number
}

/** Larger headers are rejected, and the connection is closed (R2). */
export const largestHeadersBytes = 16 * 1024

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: JsonSchema
}

export interface Document {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly parameters?: ReadonlyArray<Parameter>
            readonly security?: ReadonlyArray<object>
            readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> }
          }
        >
      >
    >
  >
  readonly components: { readonly schemas: Schemas }
}

/** A route as a router lists it. */
export interface ListedRoute {
  readonly listener: ListenerName
  readonly method: string
  readonly path: string
}

/** A route with its parameters and body. Path parameters are in braces. */
export interface Route extends ListedRoute {
  readonly parameters: ReadonlyArray<Parameter>
  readonly body: JsonSchema | undefined
  readonly type: string
  /** A credential that it accepts, if it needs one. */
  readonly as: Credential | undefined
  readonly isDocumented: boolean
}

/** Queries, some with controls of the fake engine. Failures are rare, or its circuit breaker would stay open. */
const texts: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.constantFrom(
      "effect typescript",
      "quarry wait5",
      "a@a.test",
      "http://127.0.0.1:9/b",
      "mcp",
      "us",
      "7"
    )
  },
  { weight: 10, arbitrary: fc.string({ maxLength: 30, unit: "grapheme" }) },
  { weight: 5, arbitrary: fc.constant(spareKey) },
  { weight: 2, arbitrary: fc.string({ maxLength: 450, unit: "binary" }) },
  { weight: 4, arbitrary: fc.nat().map((n) => `fail ${n}`) },
  { weight: 1, arbitrary: fc.nat().map((n) => (n % 20 === 0 ? `hang ${n}` : `wait50 ${n}`)) }
)

const string: JsonSchema = { type: "string" }
const fields = (names: string): JsonSchema => ({
  type: "object",
  properties: Object.fromEntries(names.split(" ").map((name) => [name, string])),
  required: names.split(" ").slice(0, 2)
})

/** Fields of routes that are not in the OpenAPI document. */
const undocumented: Readonly<Record<string, string>> = {
  "POST /api/auth/sign-up/email": "email password name callbackURL oauth_query image rememberMe",
  "POST /api/auth/sign-in/email": "email password callbackURL oauth_query rememberMe",
  "POST /api/auth/sign-in/social": "provider callbackURL errorCallbackURL newUserCallbackURL idToken",
  "POST /api/auth/sign-out": "oauth_query x",
  "GET /api/auth/get-session": "disableCookieCache disableRefresh",
  "POST /api/auth/revoke-sessions": "oauth_query x",
  "POST /api/auth/change-password": "newPassword currentPassword revokeOtherSessions",
  "POST /api/auth/request-password-reset": "email redirectTo",
  "POST /api/auth/reset-password": "newPassword token",
  "POST /api/auth/send-verification-email": "email callbackURL",
  "GET /api/auth/error": "error error_description",
  "GET /api/auth/callback/google": "code state error",
  "GET /api/auth/oauth2/authorize":
    "client_id redirect_uri response_type state code_challenge code_challenge_method resource scope prompt",
  "POST /api/auth/oauth2/token":
    "grant_type client_id code redirect_uri code_verifier refresh_token resource client_secret",
  "POST /api/auth/oauth2/register":
    "redirect_uris client_name grant_types response_types scope token_endpoint_auth_method contacts jwks",
  "POST /api/auth/oauth2/revoke": "token client_id token_type_hint client_secret",
  "POST /api/auth/oauth2/public-client-prelogin": "client_id oauth_query",
  "POST /api/auth/oauth2/consent": "accept oauth_query scope",
  "GET /oauth/sign-in": "client_id redirect_uri sig exp",
  "POST /oauth/sign-in": "request email password provider",
  "GET /oauth/sign-up": "client_id redirect_uri sig exp",
  "POST /oauth/sign-up": "request email password",
  "GET /oauth/forgot-password": "client_id redirect_uri sig exp",
  "POST /oauth/forgot-password": "request email",
  "GET /dashboard/sign-in": "next failed error",
  "POST /dashboard/sign-in": "request email password provider",
  "GET /dashboard/sign-up": "next",
  "POST /dashboard/sign-up": "request email password again",
  "GET /dashboard/forgot-password": "next",
  "POST /dashboard/forgot-password": "request email again",
  "GET /oauth/confirm": "token callbackURL",
  "POST /oauth/confirm": "token password next",
  "GET /oauth/consent": "client_id redirect_uri sig exp",
  "POST /oauth/consent": "request decision",
  "GET /oauth/error": "error",
  "GET /v1/webhooks/unsubscribe": "token",
  "POST /v1/webhooks/unsubscribe": "token List-Unsubscribe",
  "POST /webhooks/billing": "type data",
  "GET /readyz": "full",
  "GET /status": "full"
}

/** Fields of any other route. */
const anyFields = "id name query q url token email data page limit"

/** Paths without a route. */
const nowhere: ReadonlyArray<ListedRoute> = [
  { listener: "public", method: "GET", path: "/unlisted" },
  { listener: "public", method: "POST", path: "/v1/unlisted" },
  { listener: "public", method: "GET", path: "/compat/tavily" },
  { listener: "private", method: "GET", path: "/unlisted" }
]

const toolCall: JsonSchema = {
  type: "object",
  required: ["jsonrpc", "id", "method", "params"],
  properties: {
    jsonrpc: { enum: ["2.0"] },
    id: { type: "integer" },
    method: { enum: ["tools/call", "tools/call", "tools/list", "initialize", "ping"] },
    params: {
      type: "object",
      required: ["name", "arguments"],
      properties: {
        name: { enum: ["web_search", "bulk_search", "account"] },
        arguments: { anyOf: [{ $ref: "BulkRequest" }, { $ref: "BulkRow" }] },
        protocolVersion: { enum: ["2025-06-18"] }
      }
    }
  }
}

const isForm = (path: string): boolean =>
  /^\/oauth\/|^\/dashboard\/(?:sign-|forgot-)|\/token$|\/revoke$|\/unsubscribe$/.test(path)

const jsonType = "application/json"
export const formType = "application/x-www-form-urlencoded"

/** Chooses the credential of most requests to a route. */
const credentialOf = (path: string, security: ReadonlyArray<object> | undefined): Credential | undefined => {
  if (path.startsWith("/compat/")) return "live"
  const accepted = security?.flatMap(Object.keys) ?? []
  return accepted.includes("apiKey") ? "live" : accepted.includes("session") ? "session" : undefined
}

/** Finds the documented path of an undocumented alias: some SearXNG clients omit the end of the path. */
const aliased = ({ paths }: Document, { method, path }: ListedRoute): string | undefined => {
  const start = `${path.replace(/\/$/, "")}/`
  return path === "/"
    ? undefined
    : Object.keys(paths).find((known) => known.startsWith(start) && method.toLowerCase() in (paths[known] ?? {}))
}

/** Expands the wildcard route of the sign-in library, which has its own router. */
const offered = (listed: ListedRoute): ReadonlyArray<ListedRoute> =>
  offeredRoutes.flatMap(([method, pattern]) =>
    method === listed.method
      ? fc
          .sample(fc.stringMatching(pattern), { seed: 1, numRuns: 8 })
          .map((path) => ({ ...listed, path: `/api/auth${path}` }))
          .filter(({ path }, index, all) => all.findIndex((other) => other.path === path) === index)
      : []
  )

const describe = (document: Document, listed: ListedRoute): Route => {
  const { method } = listed
  const path = listed.path.replaceAll(/:(\w+)/g, "{$1}").replace("*", "{rest}")
  const known = aliased(document, { ...listed, path })
  const operation = document.paths[path]?.[method.toLowerCase()] ?? document.paths[known ?? ""]?.[method.toLowerCase()]
  if (operation === undefined) {
    const schema = fields(undocumented[`${method} ${path}`] ?? anyFields)
    const inQuery = method === "GET" ? Object.entries(schema.properties ?? {}) : []
    return {
      ...listed,
      path,
      parameters: inQuery.map(([name, schema]) => ({ name, in: "query", schema })),
      body: method === "GET" ? undefined : schema,
      type: isForm(path) ? formType : jsonType,
      as: undefined,
      isDocumented: false
    }
  }
  const [[type, content] = [jsonType, undefined]] = Object.entries(operation.requestBody?.content ?? {})
  const body = content?.schema
  return {
    ...listed,
    path,
    parameters: operation.parameters ?? [],
    body: path === "/mcp" && body !== undefined ? { anyOf: [body, toolCall, toolCall] } : body,
    type,
    as: credentialOf(path, operation.security),
    isDocumented: true
  }
}

/** Describes a server's routes by its document, or by `undocumented`. */
export const describeRoutes = (document: Document, listed: ReadonlyArray<ListedRoute>): ReadonlyArray<Route> =>
  [...listed.flatMap((route) => (route.path === "/api/auth/*" ? offered(route) : [route])), ...nowhere].map((route) =>
    describe(document, route)
  )

/** Mostly `usual`, sometimes one of the others. */
const mostly = <A>(usual: fc.Arbitrary<A>, ...others: ReadonlyArray<fc.Arbitrary<A>>): fc.Arbitrary<A> =>
  fc.oneof({ weight: 8 * others.length, arbitrary: usual }, ...others.map((arbitrary) => ({ weight: 1, arbitrary })))

const wellFormed = (value: unknown): string =>
  encodeURIComponent((typeof value === "string" ? value : (JSON.stringify(value) ?? "")).toWellFormed())

const queryOf = (route: Route, schemas: Schemas): fc.Arbitrary<string> => {
  const parameters = route.parameters.filter((it) => it.in === "query")
  const pair = ({ name, schema }: Parameter): fc.Arbitrary<string> => {
    const values = valuesOf(schema, schemas, texts)
    const written = (arbitrary: fc.Arbitrary<unknown>) => arbitrary.map((value) => `${name}=${wellFormed(value)}`)
    return mostly(
      written(values),
      written(mutated(values)),
      fc.constantFrom(
        `${name}=`,
        name,
        `${name}=a&${name}=b`,
        `${name}=%zz`,
        `${name}=%ff`,
        `${name}=%`,
        `${name}[]=a`
      ),
      fc.constant(`${name}=${"x".repeat(5000)}`)
    )
  }
  const chosen = parameters.map((it) => fc.option(pair(it), { nil: undefined, freq: it.required === true ? 20 : 2 }))
  const known = fc.tuple(...chosen).map((pairs) => pairs.filter((it) => it !== undefined).join("&"))
  return mostly(
    known,
    fc.tuple(known, fc.webQueryParameters()).map((both) => both.join("&"))
  )
}

/** Other spellings of a path, none of which is listed. */
const respelled = (path: string): fc.Arbitrary<string> =>
  fc.constantFrom(
    `${path}/`,
    `/${path}`,
    path.toUpperCase(),
    `${path};a=b`,
    `${path}#a`,
    `${path}%20`,
    `${path}/..`,
    `${path}/%2e%2e`,
    path.replace("e", "%65"),
    `${path}\u00e9`,
    `${path}%00`,
    `${path}${"/x".repeat(2000)}`,
    `*`,
    `http://a.test${path}`,
    `//a.test${path}`
  )

const pathOf = (route: Route, schemas: Schemas): fc.Arbitrary<string> => {
  const ids = fc.oneof(fc.constantFrom(spareKey, spareHook), texts)
  const plain = ids.map((id) => route.path.replaceAll(/\{\w+\}/g, () => wellFormed(id)))
  const path = mostly(plain, plain.chain(respelled))
  return fc.tuple(path, queryOf(route, schemas)).map(([path, query]) => (query === "" ? path : `${path}?${query}`))
}

const inForm = (type: Route["type"], value: unknown): string => {
  if (type !== formType || typeof value !== "object" || value === null) return JSON.stringify(value) ?? ""
  return Object.entries(value)
    .map(([name, part]) => `${wellFormed(name)}=${wellFormed(part)}`)
    .join("&")
}

const largestBodyBytes = 1_100_000

const bodyOf = (route: Route, schemas: Schemas): fc.Arbitrary<Buffer | undefined> => {
  const nothing = fc.constant(undefined)
  if (route.body === undefined) return mostly<Buffer | undefined>(nothing, fc.constant(Buffer.from("{}")))
  const values = valuesOf(route.body, schemas, texts)
  const written = (arbitrary: fc.Arbitrary<unknown>) => arbitrary.map((value) => Buffer.from(inForm(route.type, value)))
  const broken = values
    .map((value) => inForm(route.type, value))
    .chain((text) =>
      fc.constantFrom(
        text.slice(0, text.length / 2),
        `${text}}`,
        `\ufeff${text}`,
        `${text}\u0000`,
        "[".repeat(50_000),
        `{"a":1,"a":2}`,
        `{"queries":["a"],"queries":["b"],"__proto__":{"num":3}}`,
        "NaN",
        "1e999",
        `"\\ud800"`
      )
    )
  return fc.oneof(
    { weight: 40, arbitrary: written(values) },
    { weight: 40, arbitrary: written(mutated(values)) },
    { weight: 10, arbitrary: broken.map((text) => Buffer.from(text)) },
    { weight: 4, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 4, arbitrary: nothing },
    { weight: 1, arbitrary: fc.constant(Buffer.alloc(largestBodyBytes, 0x20)) }
  )
}

type Headers = RandomRequest["headers"]

/** A header in `freq` of `freq + 1` requests. */
const sometimes = (name: string, values: ReadonlyArray<string>, freq: number): fc.Arbitrary<Headers> =>
  fc
    .option(
      fc.constantFrom(...values).map((value) => [[name, value] as const]),
      { nil: [], freq }
    )
    .map((it) => it)

const uuid = "0f8fad5b-d9cb-469f-a165-70867728950e"

const headersOf = ({ method, type }: Route): fc.Arbitrary<Headers> => {
  const rarely = (name: string, values: ReadonlyArray<string>) =>
    fc.nat(9).chain((n) => (n === 0 ? sometimes(name, values, 100) : fc.constant<Headers>([])))
  const types = [
    "text/plain",
    "application/json; charset=utf-16",
    "multipart/form-data; boundary=a",
    "",
    "application/xml"
  ]
  const contentType = mostly<Headers>(
    fc.constant([["content-type", type]]),
    fc.constant([]),
    fc.constantFrom(...types).map((value) => [["content-type", value]])
  )
  return fc
    .tuple(
      method === "GET" ? fc.constant<Headers>([]) : contentType,
      sometimes("origin", ["SELF"], 3),
      rarely("origin", ["https://evil.test", "null", "SELF", ""]),
      rarely("sec-fetch-site", ["same-origin", "cross-site", "none", "x"]),
      rarely("x-request-id", [uuid, uuid.toUpperCase(), "", "x".repeat(4000), "\u00ff", `${uuid}, ${uuid}`]),
      sometimes("accept", ["application/json, text/event-stream", "application/json", "text/html", "*/*;q=", "x"], 3),
      rarely("idempotency-key", ["a", '"a"', "b", "", "\u00ff", "x".repeat(256), "a, b"]),
      rarely("mcp-protocol-version", ["2025-06-18", "2025-03-26", "1", ""]),
      rarely("user-agent", ["x".repeat(9000), "\u00ff", ""]),
      rarely("x-forwarded-for", ["1.2.3.4", "::1", "x, ,", "9".repeat(5000)]),
      rarely("x-http-method-override", ["DELETE"]),
      rarely("cookie", [
        "quarry.session_token=x",
        "quarry.session_token=x; quarry.session_token=y",
        "=;=",
        "x".repeat(5000)
      ]),
      rarely("authorization", ["Basic YTpi", "Bearer", "Bearer  x", "bearer sk_live_x", "Bearer quarry_at_x", "\u00ff"])
    )
    .map((lists) => lists.flat())
}

const whose = ({ as }: Route): fc.Arbitrary<ReadonlyArray<Credential>> =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constant(as === undefined ? [] : [as]) },
    { weight: 1, arbitrary: fc.constant([]) },
    { weight: 2, arbitrary: fc.constantFrom("live" as const, "session" as const).map((it) => [it]) },
    { weight: 2, arbitrary: fc.constantFrom(...credentials).map((it) => [it]) },
    { weight: 1, arbitrary: fc.subarray([...credentials], { minLength: 2, maxLength: 3 }) }
  )

const ofRoute = (route: Route, schemas: Schemas): fc.Arbitrary<RandomRequest> =>
  fc.record({
    listener: fc.constant(route.listener),
    method: mostly(
      fc.constant(route.method),
      fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "QUERY", "get")
    ),
    path: pathOf(route, schemas),
    headers: headersOf(route),
    body: bodyOf(route, schemas),
    as: whose(route),
    from: fc.nat()
  })

/** Documented routes are more frequent, because there is more to test. */
const weightOfDocumented = 3

/** Generates requests to every route: those that the document allows, and invalid variations of them. */
export const requestsTo = (routes: ReadonlyArray<Route>, { components }: Document): fc.Arbitrary<RandomRequest> =>
  fc.oneof(
    ...routes.map((route) => ({
      weight: route.isDocumented ? weightOfDocumented : 1,
      arbitrary: ofRoute(route, components.schemas)
    }))
  )

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/**
 * Formats a request as a shell command. Credentials are only named, because they expired with the server. Parts with
 * more than `characters` are cut.
 */
export const toCurl = (
  { as, body, headers, method, path }: RandomRequest,
  origin: string,
  characters = 500
): string => {
  const parts = ["curl", "-X", method, "--request-target", quoted(path), origin]
  for (const [name, value] of headers) parts.push("-H", quoted(`${name}: ${value}`))
  if (as.length > 0) parts.push(`<as ${as.join(" and ")}>`)
  if (body !== undefined) {
    const text = body.toString("utf8")
    parts.push("--data-binary", Buffer.from(text).equals(body) ? quoted(text) : `<base64 ${body.toString("base64")}>`)
  }
  return parts
    .map((part) => (part.length > characters ? `${part.slice(0, characters)}… (${part.length} characters)` : part))
    .join(" ")
}
