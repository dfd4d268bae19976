import { Predicate } from "effect"
import { dashboardHeader } from "../../domain/accounts/CallingPage.ts"
import { everyRole } from "../../domain/accounts/Role.ts"
import { PagesLine } from "../../domain/pages/PagesRequest.ts"
import { BulkLine } from "../../domain/search/BulkResult.ts"
import { quotaHeaderNames, rateLimitHeaderNames } from "../headerNames.ts"
import { jsonLines } from "../requests/accept.ts"
import { idExamples, parameterExamples, requestExamples, responseExamples } from "./examples.ts"
import { type Json, jsonSchemaOf, relax } from "./jsonSchema.ts"

const integer = (description: string): Json => ({ description, schema: { type: "integer" } })

export const headers: { readonly [name: string]: Json } = {
  "X-Request-Id": {
    description: "Request ID: the caller's own if it sent a UUID, otherwise a new one.",
    schema: { type: "string", format: "uuid" }
  },
  "X-RateLimit-Limit": integer("Requests allowed in a rolling minute."),
  "X-RateLimit-Remaining": integer("Requests left after this one."),
  "X-RateLimit-Reset": integer("Unix second at which the oldest counted request leaves the window."),
  "RateLimit-Policy": {
    description:
      'The limit as a structured field (draft-ietf-httpapi-ratelimit-headers): "minute";q=300;w=60 admits 300 requests in ' +
      "60 seconds. Same value as X-RateLimit-Limit.",
    schema: { type: "string" }
  },
  RateLimit: {
    description:
      'The requests left, as a structured field: "minute";r=299;t=37 admits 299 more, and the oldest counted request leaves the window in 37 ' +
      "seconds. Same values as X-RateLimit-Remaining and X-RateLimit-Reset.",
    schema: { type: "string" }
  },
  "Retry-After": integer(
    "Whole seconds until another attempt may succeed, at least 1. On a 409 only with billing_busy and " +
      "idempotency_in_progress; on a 503 only if the payment provider is unreachable."
  ),
  "X-Credits-Used": integer(
    "Credits charged by this response. Absent from a streamed batch, which reports them in its summary."
  ),
  "X-Quota-Limit": integer(
    "Requests the quota allows. Absent, like the other quota headers, in the demo and for marketplace subscribers."
  ),
  "X-Quota-Used": integer("Quota spent before this request."),
  "X-Quota-Remaining": integer("Quota left before this request."),
  "X-Credits-Balance": integer("Pack credits left after this response. Absent from a streamed batch."),
  "X-Quota-Reset": integer("Unix second at which the quota resets; absent on the trial."),
  "Idempotent-Replayed": {
    description: "true if this response repeats that of an earlier, charged request with the same Idempotency-Key.",
    schema: { type: "string", enum: ["true"] }
  },
  "WWW-Authenticate": {
    description:
      'The scheme of keys, Bearer, with error="invalid_token" when an Authorization was sent; on /mcp also where an app ' +
      "is authorized (RFC 9728). Absent if only a session is accepted.",
    schema: { type: "string" }
  },
  "Content-Disposition": {
    description: "Makes browsers save the document as a file.",
    schema: { type: "string" }
  }
}

const repeatable: ReadonlySet<string> = new Set(["query", "bulk", "page", "pages"])

/** Statuses of the endpoints that spend credits, with the headers of quota and cost. */
const spendingStatuses = ["200", "402", "422", "502", "504"]

const takesKeys = ({ security }: Json): boolean =>
  Array.isArray(security) && security.some((requirement) => Predicate.isObject(requirement) && "apiKey" in requirement)

const canRetry = ({ operationId }: Json, status: string): boolean =>
  status === "503" || (status === "409" && (operationId === "changePlan" || repeatable.has(String(operationId))))

/** Response headers by status. A 401 or 500 has no credential, and a 400 spent nothing (R1). */
const responseHeaders = (operation: Json, status: string): ReadonlyArray<string> => [
  "X-Request-Id",
  ...(status === "401" && takesKeys(operation) ? ["WWW-Authenticate"] : []),
  ...(status === "401" || status === "500" ? [] : rateLimitHeaderNames),
  ...(status === "429" || canRetry(operation, status) ? ["Retry-After"] : []),
  ...(status === "200" && operation.operationId === "exportAccount" ? ["Content-Disposition"] : []),
  ...(repeatable.has(String(operation.operationId)) && spendingStatuses.includes(status) ? quotaHeaderNames : []),
  ...(repeatable.has(String(operation.operationId)) && ["200", "502", "504"].includes(status)
    ? ["Idempotent-Replayed"]
    : [])
]

export const headerReferences = (names: ReadonlyArray<string>): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

const eventStream: Json = {
  schema: { type: "string", description: "Server-sent events, each with one JSON-RPC message as its data." }
}

/** Separates a schema from its description, which is in an `allOf` beside a reference. */
const apart = ({ allOf, description, ...schema }: Json): { readonly description: unknown; readonly schema: Json } => {
  if (!Array.isArray(allOf)) return { description, schema }
  const [{ description: beside, ...rest }, reference] = [allOf[1] ?? {}, allOf[0]]
  const isReference = Object.keys(rest).length === 0 && Object.keys(schema).length === 0
  return isReference ? { description: beside, schema: reference } : { description, schema: { ...schema, allOf } }
}

const completeParameter = (parameter: Json): Json => {
  const { in: place, name, required } = parameter
  if (!Predicate.isObject(parameter.schema)) return parameter
  const { description, schema } = apart(parameter.schema)
  const { pattern } = schema
  const example =
    typeof pattern === "string" && pattern.startsWith("^")
      ? idExamples.find((id) => new RegExp(pattern).test(id))
      : parameterExamples[String(name)]
  return {
    name,
    in: place,
    required,
    ...(description === undefined ? {} : { description }),
    ...(example === undefined ? {} : { example }),
    schema
  }
}

const json = "application/json"

/** Not declared to the library, because decoding headers by schema would slow every search. */
const idempotencyKey: Json = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description:
    "A unique value of your choice, bare or in quotes, that makes retries safe for 24 hours. If the first request was " +
    "charged, a retry returns its response with Idempotent-Replayed; otherwise the request runs again. Using the key for " +
    "a different request returns invalid_request. The demo ignores it.",
  example: "8e03978e-40d5-43dd-bc93-6894a57f9324",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]+$" }
}

export const showExample = (body: unknown, example: unknown): void => {
  if (
    example !== undefined &&
    Predicate.isObject(body) &&
    Predicate.isObject(body.content) &&
    Predicate.isObject(body.content[json])
  ) {
    body.content[json].example = example
  }
}

/** Describes one line of a streamed batch. OpenAPI 3.1 lacks 3.2's `itemSchema`, so an extension carries it. */
const linesOf = (name: string): Json => {
  const lineSchema: Json = { $ref: `#/components/schemas/${name}` }
  return { schema: lineSchema, "x-itemSchema": lineSchema }
}

const lines: Readonly<Record<string, Json>> = {
  bulk: linesOf("BulkLine"),
  pages: linesOf("PagesLine"),
  listAccountEvents: linesOf("AccountEvent")
}

/** The gates declare a 403 for each endpoint, but an endpoint for all roles refuses none. */
const dropUnusedForbidden = (operation: Json, responses: Json): void => {
  const roles = operation["x-roles"]
  const isForAll = !Array.isArray(roles) || roles.length === everyRole.length
  // Another reason for a 403 makes the schema a union.
  if (
    isForAll &&
    JSON.stringify(responses["403"] ?? {}).includes(`"schema":{"$ref":"#/components/schemas/Forbidden"}`)
  ) {
    delete responses["403"]
  }
}

const completeOperation = (operation: Json): void => {
  const id = String(operation.operationId)
  showExample(operation.requestBody, requestExamples[id])
  if (id === "rotateApiKey" && Predicate.isObject(operation.requestBody)) operation.requestBody.required = false
  const parameters = Array.isArray(operation.parameters) ? operation.parameters : []
  operation.parameters = [
    ...parameters.filter(Predicate.isObject).map(completeParameter),
    ...(repeatable.has(id) ? [idempotencyKey] : [])
  ]
  const all = Predicate.isObject(operation.responses) ? operation.responses : {}
  dropUnusedForbidden(operation, all)
  for (const [status, response] of Object.entries(all)) {
    if (!Predicate.isObject(response)) continue
    response.headers = headerReferences(responseHeaders(operation, status))
    if (status.startsWith("2")) showExample(response, responseExamples[id])
    if (id === "mcp" && status === "200" && Predicate.isObject(response.content)) {
      response.content["text/event-stream"] = eventStream
    }
    if (id in lines && status === "200" && Predicate.isObject(response.content)) response.content[jsonLines] = lines[id]
  }
}

const securitySchemes: Json = {
  apiKey: {
    type: "http",
    scheme: "bearer",
    description: "A secret API key: sk_live_… or sk_test_…"
  },
  oauth: {
    type: "http",
    scheme: "bearer",
    description: "The access token of an authorized app (OAuth 2.1). See /.well-known/oauth-protected-resource/mcp."
  },
  session: {
    type: "apiKey",
    in: "cookie",
    name: "quarry.session_token",
    description:
      "The session of a signed-in person. Over https the name is __Secure-quarry.session_token. Requests that " +
      "change data need an Origin or Sec-Fetch-Site of this deployment, as browsers send it. Requests that spend credits " +
      "must not come from another site. Over plain http, except on localhost, they also need the header " +
      `${dashboardHeader}, with any value.`
  }
}

/** Allows any members in MCP messages: readers of the document take a bare object as empty. */
const openMembers = ({ McpAnswer, McpMessage }: Json): void => {
  for (const schema of [McpAnswer, McpMessage]) {
    const { params, result } =
      Predicate.isObject(schema) && Predicate.isObject(schema.properties) ? schema.properties : {}
    for (const members of [params, result]) if (Predicate.isObject(members)) members.additionalProperties = true
  }
}

const license: Json = { name: "MIT", identifier: "MIT" }

export const documentAt = (document: Json, origin: string): Json => ({
  ...document,
  info: {
    ...(Predicate.isObject(document.info) ? document.info : {}),
    contact: { name: "The operator of this deployment", url: origin },
    license
  },
  servers: [{ url: origin }]
})

/** Fixed, so that the committed document is the same everywhere. */
const defaultOrigin = "http://localhost:3000"

/** The operations of all paths that start with `prefix`. */
export const operationsOf = ({ paths }: Json, prefix = "/"): ReadonlyArray<Json> =>
  Object.entries(Predicate.isObject(paths) ? paths : {})
    .filter(([path]) => path.startsWith(prefix))
    .flatMap(([, operations]) => Object.values(Predicate.isObject(operations) ? operations : {}))
    .filter(Predicate.isObject)

export const completeDocument = (generated: Json): Json => {
  const document = relax(generated)
  for (const operation of operationsOf(document)) completeOperation(operation)
  if (Predicate.isObject(document.components) && Predicate.isObject(document.components.schemas)) {
    openMembers(document.components.schemas)
    document.components.schemas.BulkLine = jsonSchemaOf(BulkLine)
    if ("PagesRequest" in document.components.schemas) {
      document.components.schemas.PagesLine = jsonSchemaOf(PagesLine)
    }
  }
  document.components = {
    ...(Predicate.isObject(document.components) ? document.components : {}),
    headers,
    securitySchemes
  }
  return documentAt(document, defaultOrigin)
}
