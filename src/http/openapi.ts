import { BulkLine } from "../domain/BulkResult.ts"
import { dashboardHeader } from "../domain/CallingPage.ts"
import { jsonLines } from "./accept.ts"
import { parameterExamples, requestExamples, responseExamples } from "./examples.ts"
import { isObject, type Json, jsonSchemaOf, relax } from "./jsonSchema.ts"

/**
 * The parts of the document that the API's declaration cannot say: the headers that middleware sets, the credentials, the
 * servers and examples. Everything else in the document comes from the schemas.
 */

const integer = (description: string): Json => ({ description, schema: { type: "integer" } })

/** The headers of responses, by name. */
export const headers: { readonly [name: string]: Json } = {
  "X-Request-Id": {
    description: "Id of this request: the caller's own when it sent a UUID, else a new one.",
    schema: { type: "string", format: "uuid" }
  },
  "X-RateLimit-Limit": integer("Requests a rolling minute admits."),
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
      'What is left of it: "minute";r=299;t=37 admits 299 more, and the oldest counted request leaves the window in 37 ' +
      "seconds. Same values as X-RateLimit-Remaining and X-RateLimit-Reset.",
    schema: { type: "string" }
  },
  "Retry-After": integer(
    "Whole seconds until another attempt may succeed, at least 1. On a 409 only with billing_busy and " +
      "idempotency_in_progress; on a 503 only where the payment provider cannot be reached."
  ),
  "X-Credits-Used": integer("Credits charged by this response. Absent from a streamed batch, whose summary has them."),
  "X-Quota-Limit": integer(
    "Requests the quota allows. Absent, like the other quota headers, in the demo and for marketplace subscribers."
  ),
  "X-Quota-Used": integer("Credits spent inside the quota as the request arrived."),
  "X-Quota-Remaining": integer("Quota left as the request arrived."),
  "X-Credits-Balance": integer("Pack credits left after this response. Absent from a streamed batch."),
  "X-Quota-Reset": integer("Unix second at which the quota resets; absent on the trial."),
  "Idempotent-Replayed": {
    description: "true where an earlier request with the same Idempotency-Key was charged, and this is its answer.",
    schema: { type: "string", enum: ["true"] }
  },
  "WWW-Authenticate": {
    description:
      'The scheme of keys, Bearer, with error="invalid_token" when an Authorization was sent; on /mcp also where an app ' +
      "is let in (RFC 9728). Absent where only a session is taken.",
    schema: { type: "string" }
  },
  "Content-Disposition": {
    description: "Makes browsers save the document as a file.",
    schema: { type: "string" }
  }
}

const rateLimitHeaders = [
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "RateLimit-Policy",
  "RateLimit"
]
const quotaHeaders = [
  "X-Credits-Used",
  "X-Quota-Limit",
  "X-Quota-Used",
  "X-Quota-Remaining",
  "X-Credits-Balance",
  "X-Quota-Reset"
]

/** Operations that spend credits and take an idempotency key. */
const repeatable: ReadonlySet<string> = new Set(["query", "bulk"])

/** Operations that spend credits: those, and the searches in other services' shapes (R43). */
const spends = (id: unknown): boolean => repeatable.has(String(id)) || String(id).startsWith("compat")

const takesKeys = ({ security }: Json): boolean =>
  Array.isArray(security) && security.some((requirement) => isObject(requirement) && "apiKey" in requirement)

/** True for refusals that may be over a moment later. */
const canRetry = ({ operationId }: Json, status: string): boolean =>
  status === "503" || (status === "409" && (operationId === "changePlan" || repeatable.has(String(operationId))))

/** The headers of a response: a 401 and a 500 know no credential, a 400 has spent nothing (R1). */
const responseHeaders = (operation: Json, status: string): ReadonlyArray<string> => [
  "X-Request-Id",
  ...(status === "401" && takesKeys(operation) ? ["WWW-Authenticate"] : []),
  ...(status === "401" || status === "500" ? [] : rateLimitHeaders),
  ...(status === "429" || canRetry(operation, status) ? ["Retry-After"] : []),
  ...(status === "200" && operation.operationId === "exportAccount" ? ["Content-Disposition"] : []),
  ...(spends(operation.operationId) && ["200", "402", "432", "502", "504"].includes(status) ? quotaHeaders : []),
  ...(repeatable.has(String(operation.operationId)) && ["200", "502", "504"].includes(status)
    ? ["Idempotent-Replayed"]
    : [])
]

const reference = (name: string): Json => ({ $ref: `#/components/headers/${name}` })

const eventStream: Json = {
  schema: { type: "string", description: "Server-sent events, each with one JSON-RPC message as its data." }
}

/** A schema apart from its description. Beside a reference, a description stands in an `allOf`. */
const apart = ({ allOf, description, ...schema }: Json): { readonly description: unknown; readonly schema: Json } => {
  if (!Array.isArray(allOf)) return { description, schema }
  const [{ description: beside, ...rest }, reference] = [allOf[1] ?? {}, allOf[0]]
  const isReference = Object.keys(rest).length === 0 && Object.keys(schema).length === 0
  return isReference ? { description: beside, schema: reference } : { description, schema: { ...schema, allOf } }
}

/** A parameter with the description of its schema where readers of the document look for it, and with its example. */
const completeParameter = (parameter: Json): Json => {
  const { in: place, name, required } = parameter
  if (!isObject(parameter.schema)) return parameter
  const { description, schema } = apart(parameter.schema)
  const example = parameterExamples[String(name)]
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

/** It is no part of the declaration, because decoding headers by a schema would cost every search, also those without. */
const idempotencyKey: Json = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description:
    "A name of your choice for this request, bare or in quotes. Repeated within 24 hours with the same key, the request is " +
    "not charged again: what was charged is answered again with Idempotent-Replayed, and what was not is run again. The " +
    "same key with another request is invalid_request. The demo ignores it.",
  example: "8e03978e-40d5-43dd-bc93-6894a57f9324",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]+$" }
}

/** Puts an example beside the schema of a body in JSON. */
const showExample = (body: unknown, example: unknown): void => {
  if (example !== undefined && isObject(body) && isObject(body.content) && isObject(body.content[json])) {
    body.content[json].example = example
  }
}

/**
 * The lines of a streamed batch: `schema` is that of one line, because OpenAPI 3.1 has no word for a sequence. Tools that
 * know `itemSchema` of 3.2 find it under a name of ours.
 */
const lineSchema: Json = { $ref: "#/components/schemas/BulkLine" }
const lines: Json = { schema: lineSchema, "x-itemSchema": lineSchema }

const completeOperation = (operation: Json): void => {
  const id = String(operation.operationId)
  showExample(operation.requestBody, requestExamples[id])
  if (id === "rotateApiKey" && isObject(operation.requestBody)) operation.requestBody.required = false
  const parameters = Array.isArray(operation.parameters) ? operation.parameters : []
  operation.parameters = [
    ...parameters.filter(isObject).map(completeParameter),
    ...(repeatable.has(id) ? [idempotencyKey] : [])
  ]
  for (const [status, response] of Object.entries(isObject(operation.responses) ? operation.responses : {})) {
    if (!isObject(response)) continue
    response.headers = Object.fromEntries(responseHeaders(operation, status).map((name) => [name, reference(name)]))
    if (status.startsWith("2")) showExample(response, responseExamples[id])
    if (id === "mcp" && status === "200" && isObject(response.content)) {
      response.content["text/event-stream"] = eventStream
    }
    if (id === "bulk" && status === "200" && isObject(response.content)) response.content[jsonLines] = lines
  }
}

/** The credentials, by the names that `accepting` requires them by. */
const securitySchemes: Json = {
  apiKey: {
    type: "http",
    scheme: "bearer",
    description: "A secret API key: sk_live_… or sk_test_…"
  },
  oauth: {
    type: "http",
    scheme: "bearer",
    description:
      "The access token of an app that a person let in (OAuth 2.1). /.well-known/oauth-protected-resource/mcp tells where."
  },
  session: {
    type: "apiKey",
    in: "cookie",
    name: "quarry.session_token",
    description:
      "The session of a signed-in person. Over https the name is __Secure-quarry.session_token. What changes something " +
      "also takes an Origin or a Sec-Fetch-Site of this deployment, as browsers send it. What spends credits refuses those " +
      "of another site. Over plain http, unless the server is this machine, spending also takes the header " +
      `${dashboardHeader}, with any value.`
  },
  marketplaceSecret: {
    type: "apiKey",
    in: "header",
    name: "X-Marketplace-Proxy-Secret",
    description: "Set by the marketplace's proxy; integrators never send it."
  },
  marketplaceUser: {
    type: "apiKey",
    in: "header",
    name: "X-Marketplace-User",
    description: "The subscriber that the proxy calls for; integrators never send it."
  },
  demoOrigin: {
    type: "apiKey",
    in: "header",
    name: "X-Demo-Origin",
    description: "The deployment's demo origin. Refused together with an Authorization or a session."
  }
}

/** The other ways in which clients of other services send a key (R43). */
const compatSchemes: Json = {
  apiKeyBasic: { type: "http", scheme: "basic", description: "The API key as user or as password." },
  apiKeyHeader: { type: "apiKey", in: "header", name: "X-API-Key", description: "The API key." },
  subscriptionToken: { type: "apiKey", in: "header", name: "X-Subscription-Token", description: "The API key." }
}

/** Says of the members of MCP messages that they hold anything: a bare object is read as one without fields. */
const openMembers = ({ McpAnswer, McpMessage }: Json): void => {
  for (const schema of [McpAnswer, McpMessage]) {
    const { params, result } = isObject(schema) && isObject(schema.properties) ? schema.properties : {}
    for (const members of [params, result]) if (isObject(members)) members.additionalProperties = true
  }
}

const license: Json = { name: "MIT", identifier: "MIT" }

/** A copy of the document for the deployment that clients reach at `origin`. Its operator is whom they can ask. */
export const documentAt = (document: Json, origin: string): Json => ({
  ...document,
  info: {
    ...(isObject(document.info) ? document.info : {}),
    contact: { name: "The operator of this deployment", url: origin },
    license
  },
  servers: [{ url: origin }]
})

/** The address of a deployment without settings, so that the committed document is the same everywhere. */
const defaultOrigin = "http://localhost:3000"

/** Adds to the generated document what the declaration does not hold. */
export const completeDocument = (generated: Json): Json => {
  const document = relax(generated) as Json // `relax` keeps an object an object.
  for (const path of Object.values(isObject(document.paths) ? document.paths : {})) {
    for (const operation of Object.values(isObject(path) ? path : {})) {
      if (isObject(operation)) completeOperation(operation)
    }
  }
  if (isObject(document.components) && isObject(document.components.schemas)) {
    openMembers(document.components.schemas)
    document.components.schemas.BulkLine = jsonSchemaOf(BulkLine)
  }
  const hasCompat = Object.keys(document.paths ?? {}).some((path) => path.startsWith("/compat/"))
  document.components = {
    ...(isObject(document.components) ? document.components : {}),
    headers,
    securitySchemes: hasCompat ? { ...securitySchemes, ...compatSchemes } : securitySchemes
  }
  return documentAt(document, defaultOrigin)
}
