import fc from "fast-check"
import { type JsonSchema, mutated, type Schemas, valuesOf } from "./schemaValues.ts"

/** Whose credentials a request carries; two of them contradict each other. */
export const credentials = ["live", "test", "revoked", "garbage", "session", "demo", "marketplace"] as const
export type Credential = (typeof credentials)[number]

/** Stands for the id of a key that may be rotated and revoked. */
export const spareKey = "SPARE_KEY"

export interface RandomRequest {
  readonly method: string
  /** With its query, in characters of Latin-1. */
  readonly path: string
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: Buffer | undefined
  readonly as: ReadonlyArray<Credential>
  /** Chooses the loopback address that it comes from. */
  readonly from: number
}

/** A block of headers above this is refused, and its connection closed (R2). */
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
            readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> }
          }
        >
      >
    >
  >
  readonly components: { readonly schemas: Schemas }
}

interface Route {
  readonly method: string
  readonly path: string
  readonly parameters: ReadonlyArray<Parameter>
  readonly body: JsonSchema | undefined
  readonly type: "application/json" | "application/x-www-form-urlencoded"
}

/** Queries with levers of the fake engine among them: failures are rare, or its breaker would stay open. */
const texts: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.constantFrom("effect typescript", "quarry wait5", "a@a.test", "https://a.test/b", "mcp", "us", "7")
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

/** Of sign-in and apps, which the document leaves out: the fields that the library reads. */
const undocumented: ReadonlyArray<readonly [method: string, path: string, fields?: string]> = [
  ["POST", "/api/auth/sign-up/email", "email password name callbackURL oauth_query image rememberMe"],
  ["POST", "/api/auth/sign-in/email", "email password callbackURL oauth_query rememberMe"],
  ["POST", "/api/auth/sign-in/social", "provider callbackURL errorCallbackURL newUserCallbackURL idToken"],
  ["POST", "/api/auth/sign-out", "oauth_query x"],
  ["GET", "/api/auth/get-session", "disableCookieCache disableRefresh"],
  ["POST", "/api/auth/revoke-sessions", "oauth_query x"],
  ["POST", "/api/auth/change-password", "newPassword currentPassword revokeOtherSessions"],
  ["POST", "/api/auth/request-password-reset", "email redirectTo"],
  ["POST", "/api/auth/reset-password", "newPassword token"],
  ["POST", "/api/auth/send-verification-email", "email callbackURL"],
  ["GET", "/oauth/confirm", "token callbackURL"],
  ["GET", "/api/auth/error", "error error_description"],
  ["GET", "/api/auth/callback/google", "code state error"],
  [
    "GET",
    "/api/auth/oauth2/authorize",
    "client_id redirect_uri response_type state code_challenge code_challenge_method resource scope prompt"
  ],
  [
    "POST",
    "/api/auth/oauth2/token",
    "grant_type client_id code redirect_uri code_verifier refresh_token resource client_secret"
  ],
  [
    "POST",
    "/api/auth/oauth2/register",
    "redirect_uris client_name grant_types response_types scope token_endpoint_auth_method contacts jwks"
  ],
  ["POST", "/api/auth/oauth2/revoke", "token client_id token_type_hint client_secret"],
  ["POST", "/api/auth/oauth2/public-client-prelogin", "client_id oauth_query"],
  ["POST", "/api/auth/oauth2/consent", "accept oauth_query scope"],
  ["GET", "/oauth/sign-in", "client_id redirect_uri sig exp"],
  ["POST", "/oauth/sign-in", "request email password provider"],
  ["GET", "/oauth/sign-up", "client_id redirect_uri sig exp"],
  ["POST", "/oauth/sign-up", "request email password"],
  ["GET", "/oauth/forgot-password", "client_id redirect_uri sig exp"],
  ["POST", "/oauth/forgot-password", "request email"],
  ["POST", "/oauth/confirm", "token password next"],
  ["GET", "/oauth/consent", "client_id redirect_uri sig exp"],
  ["POST", "/oauth/consent", "request decision"],
  ["GET", "/oauth/error", "error"],
  ["GET", "/oauth/style.css"],
  ["GET", "/.well-known/oauth-protected-resource"],
  ["GET", "/.well-known/oauth-protected-resource/mcp"],
  ["GET", "/.well-known/oauth-authorization-server"],
  ["GET", "/.well-known/oauth-authorization-server/api/auth"],
  ["GET", "/docs"],
  ["GET", "/openapi.json"],
  ["GET", "/dashboard"],
  ["POST", "/webhooks/billing", "type data"],
  ["GET", "/"],
  ["GET", "/favicon.ico"],
  ["GET", "/unlisted"],
  ["POST", "/v1/unlisted", "a"],
  ["GET", "/compat/tavily", "q"]
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

const routesOf = ({ paths }: Document): ReadonlyArray<Route> => [
  ...Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { parameters = [], requestBody }]): Route => {
      const schema = requestBody?.content["application/json"]?.schema
      const body = path === "/mcp" && schema !== undefined ? { anyOf: [schema, toolCall, toolCall] } : schema
      return { method: method.toUpperCase(), path, parameters, body, type: "application/json" }
    })
  ),
  ...undocumented.map(([method, path, names]): Route => {
    const schema = names === undefined ? undefined : fields(names)
    const inQuery = method === "GET" ? Object.entries(schema?.properties ?? {}) : []
    return {
      method,
      path,
      parameters: inQuery.map(([name, schema]) => ({ name, in: "query", schema })),
      body: method === "GET" ? undefined : schema,
      type:
        path.startsWith("/oauth/") || path.endsWith("/token") ? "application/x-www-form-urlencoded" : "application/json"
    }
  })
]

/** Mostly `usual`, now and then one of the others. */
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
  const plain = fc.oneof(fc.constant(spareKey), texts).map((id) => route.path.replace("{id}", wellFormed(id)))
  const path = mostly(plain, plain.chain(respelled))
  return fc.tuple(path, queryOf(route, schemas)).map(([path, query]) => (query === "" ? path : `${path}?${query}`))
}

const inForm = (type: Route["type"], value: unknown): string => {
  if (type === "application/json" || typeof value !== "object" || value === null) return JSON.stringify(value) ?? ""
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

const whose: fc.Arbitrary<ReadonlyArray<Credential>> = fc.oneof(
  { weight: 2, arbitrary: fc.constant([]) },
  { weight: 6, arbitrary: fc.constantFrom("live" as const, "session" as const).map((it) => [it]) },
  { weight: 3, arbitrary: fc.constantFrom(...credentials).map((it) => [it]) },
  { weight: 1, arbitrary: fc.subarray([...credentials], { minLength: 2, maxLength: 3 }) }
)

const ofRoute = (route: Route, schemas: Schemas): fc.Arbitrary<RandomRequest> =>
  fc.record({
    method: mostly(
      fc.constant(route.method),
      fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "QUERY", "get")
    ),
    path: pathOf(route, schemas),
    headers: headersOf(route),
    body: bodyOf(route, schemas),
    as: whose,
    from: fc.nat()
  })

/** The document's own routes come more often: there is more to them. */
const weightOfDocumented = 3

/** Requests to every route: those that the document allows, and whatever else a caller could send. */
export const requestsOf = (document: Document): fc.Arbitrary<RandomRequest> =>
  fc.oneof(
    ...routesOf(document).map((route) => ({
      weight: route.path in document.paths ? weightOfDocumented : 1,
      arbitrary: ofRoute(route, document.components.schemas)
    }))
  )

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** A request as a line for a shell. Its credentials are named and not told: they ended with the server. */
export const toCurl = ({ as, body, headers, method, path }: RandomRequest, origin: string): string => {
  const parts = ["curl", "-X", method, "--request-target", quoted(path), origin]
  for (const [name, value] of headers) parts.push("-H", quoted(`${name}: ${value}`))
  if (as.length > 0) parts.push(`<as ${as.join(" and ")}>`)
  if (body !== undefined) {
    const text = body.toString("utf8")
    parts.push("--data-binary", Buffer.from(text).equals(body) ? quoted(text) : `<base64 ${body.toString("base64")}>`)
  }
  return parts
    .map((part) => (part.length > 500 ? `${part.slice(0, 500)}… (${part.length} characters)` : part))
    .join(" ")
}
