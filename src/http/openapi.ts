import { geos } from "../domain/Geo.ts"
import { outcomes } from "../domain/LogEntry.ts"
import { defaultEntries, maxEntries, maxSourceCharacters } from "../domain/QueryHistory.ts"
import { maxQueryCodePoints, SearchFields } from "../domain/SearchRequest.ts"
import { targets } from "../domain/Target.ts"
import { granularities } from "../domain/Usage.ts"
import { parameterExamples, requestExamples, responseExamples } from "./examples.ts"
import { isObject, type Json, jsonSchemaOf, relax } from "./jsonSchema.ts"

/**
 * What the generated document cannot know: the query parameters' rules (they are text to `HttpApi`), the headers that
 * middleware sets, and which credentials are accepted. Everything else comes from the API's declaration.
 */

const searchSchema = jsonSchemaOf(SearchFields).properties as Readonly<Record<string, Json>> // It is a struct.

/** What each field of a search takes, in a query string and in a row of a batch. */
const searchFields: { readonly [name: string]: Json } = {
  ...searchSchema,
  geo: { ...searchSchema.geo, enum: geos }
}

const parametersOf = (fields: { readonly [name: string]: Json }) =>
  Object.entries(fields).map(([name, { description, ...schema }]) => ({
    name,
    in: "query",
    required: name === "query",
    description,
    ...(name === "query" ? { example: parameterExamples.query } : {}),
    schema
  }))

const moment = (description: string): Json => ({
  type: "string",
  format: "date-time",
  description: `${description}, in ISO 8601. A date alone is its midnight in UTC.`
})

const idOf = (prefix: string, description: string): Json => ({
  type: "string",
  pattern: `^${prefix}_[0-9a-f]{32}$`,
  description
})

const textUpTo = (maxLength: number, description: string): Json => ({
  type: "string",
  minLength: 1,
  maxLength,
  description
})

/** Longer than any cursor that the service has given out. */
const maxCursorCharacters = 64

const limit: Json = {
  type: "integer",
  minimum: 1,
  maximum: maxEntries,
  default: defaultEntries,
  description: "Most entries wanted."
}

/** The query parameters of each operation. */
const parameters: { readonly [operationId: string]: { readonly [name: string]: Json } } = {
  query: searchFields,
  usage: {
    from: moment("First moment counted; the begin of the running period when absent, 30 days ago on the trial"),
    to: moment("First moment not counted; the end of the running hour when absent"),
    granularity: { type: "string", enum: granularities, default: "day", description: "Stretch of one entry in UTC." },
    group_by: { $ref: "#/components/schemas/UsageGroupBy", description: "Counts each target or key by itself." }
  },
  recentQueries: { limit },
  queryHistory: {
    target: { type: "string", enum: targets, description: "Searches of this target." },
    status: { type: "string", enum: outcomes, description: "Searches that ended so." },
    key: idOf("key", "Searches made with this key, by its id."),
    batch: idOf("bat", "Rows of this batch."),
    source: textUpTo(maxSourceCharacters, "Searches with this attribution label."),
    text: textUpTo(maxQueryCodePoints, "Searches whose query holds this text, in any letter case."),
    from: moment("First moment listed"),
    to: moment("First moment not listed"),
    cursor: textUpTo(maxCursorCharacters, "next_cursor of the page before."),
    limit
  }
}

const integer = (description: string): Json => ({ description, schema: { type: "integer" } })

const headers: { readonly [name: string]: Json } = {
  "X-Request-Id": {
    description: "Id of this request: the caller's own when it sent a UUID, else a new one.",
    schema: { type: "string", format: "uuid" }
  },
  "X-RateLimit-Limit": integer("Requests a rolling minute admits."),
  "X-RateLimit-Remaining": integer("Requests left after this one."),
  "X-RateLimit-Reset": integer("Unix second at which the oldest counted request leaves the window."),
  "Retry-After": integer("Whole seconds until a request can be admitted again, at least 1."),
  "X-Credits-Used": integer("Credits charged by this response."),
  "X-Quota-Limit": integer(
    "Requests the quota allows. Absent, like the other quota headers, in the demo and for marketplace subscribers."
  ),
  "X-Quota-Used": integer("Credits spent inside the quota as the request arrived."),
  "X-Quota-Remaining": integer("Quota left as the request arrived."),
  "X-Credits-Balance": integer("Pack credits left after this response."),
  "X-Quota-Reset": integer("Unix second at which the quota resets; absent on the trial."),
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

const rateLimitHeaders = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]
const quotaHeaders = [
  "X-Credits-Used",
  "X-Quota-Limit",
  "X-Quota-Used",
  "X-Quota-Remaining",
  "X-Credits-Balance",
  "X-Quota-Reset"
]

/** Operations that spend credits. */
const spends: ReadonlySet<string> = new Set(["query", "bulk"])

const takesKeys = ({ security }: Json): boolean =>
  Array.isArray(security) && security.some((requirement) => isObject(requirement) && "apiKey" in requirement)

/** The headers of a response: a 401 and a 500 know no credential, a 400 has spent nothing (R1). */
const responseHeaders = (operation: Json, status: string): ReadonlyArray<string> => [
  "X-Request-Id",
  ...(status === "401" && takesKeys(operation) ? ["WWW-Authenticate"] : []),
  ...(status === "401" || status === "500" ? [] : rateLimitHeaders),
  ...(status === "429" ? ["Retry-After"] : []),
  ...(status === "200" && operation.operationId === "exportAccount" ? ["Content-Disposition"] : []),
  ...(spends.has(String(operation.operationId)) && ["200", "402", "502", "504"].includes(status) ? quotaHeaders : [])
]

const reference = (name: string): Json => ({ $ref: `#/components/headers/${name}` })

const eventStream: Json = {
  schema: { type: "string", description: "Server-sent events, each with one JSON-RPC message as its data." }
}

const keyId = idOf("key", "The key's id.")

/** Shows what the id of a key looks like in a path: another text is answered 404, so the declaration takes any. */
const completePathParameters = (operation: Json): void => {
  for (const parameter of Array.isArray(operation.parameters) ? operation.parameters : []) {
    if (isObject(parameter) && parameter.in === "path" && parameter.name === "id") {
      const { description, ...schema } = keyId
      Object.assign(parameter, { description, example: parameterExamples.id, schema })
    }
  }
}

const json = "application/json"

/** Puts an example beside the schema of a body in JSON. */
const showExample = (body: unknown, example: unknown): void => {
  if (example !== undefined && isObject(body) && isObject(body.content) && isObject(body.content[json])) {
    body.content[json].example = example
  }
}

const completeOperation = (operation: Json): void => {
  const id = String(operation.operationId)
  showExample(operation.requestBody, requestExamples[id])
  const own = parameters[id]
  if (own !== undefined) operation.parameters = parametersOf(own)
  completePathParameters(operation)
  for (const [status, response] of Object.entries(isObject(operation.responses) ? operation.responses : {})) {
    if (!isObject(response)) continue
    response.headers = Object.fromEntries(responseHeaders(operation, status).map((name) => [name, reference(name)]))
    if (status.startsWith("2")) showExample(response, responseExamples[id])
    if (id === "mcp" && status === "200" && isObject(response.content)) {
      response.content["text/event-stream"] = eventStream
    }
  }
}

/*
 * What is left out of a row is the body's (R17). A fixed default would say otherwise, and generated clients send it or
 * make the field a required one; so neither a batch's body nor its rows have one.
 */

const inBody = ({ default: fallback, description, ...schema }: Json): Json => ({
  ...schema,
  description: fallback === undefined ? description : `${description} When absent, ${fallback}.`
})

const derived = " Derived from geo when absent."

const inRow = ({ default: fallback, description, ...schema }: Json): Json => {
  const text = String(description)
  const last = text.endsWith(derived) ? "derived from geo" : fallback
  return {
    ...schema,
    description: `${text.replace(derived, "")} When absent, the body's${last === undefined ? "" : `, else ${last}`}.`
  }
}

const mapFields = (fields: { readonly [name: string]: Json }, change: (field: Json) => Json) =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, change(field)]))

const bodyFields: { readonly [name: string]: Json } = mapFields(searchFields, inBody)
const rowFields: { readonly [name: string]: Json } = {
  ...mapFields(searchFields, inRow),
  query: searchFields.query ?? {}
}

const completed = (properties: unknown, fields: { readonly [name: string]: Json }): Json =>
  Object.fromEntries(
    Object.entries(isObject(properties) ? properties : {}).map(([name, own]) => [name, fields[name] ?? own])
  )

/** Gives the rows of a batch the rules that their schemas lose where only the encoded side is shown. */
const completeRows = (schemas: Json): void => {
  const { BulkRequest, BulkRow } = schemas
  if (!isObject(BulkRequest) || !isObject(BulkRow)) return
  BulkRow.properties = completed(BulkRow.properties, rowFields)
  const properties = completed(BulkRequest.properties, bodyFields)
  BulkRequest.properties = properties
  if (isObject(properties.queries)) {
    properties.queries.items = { anyOf: [searchFields.query, { $ref: "#/components/schemas/BulkRow" }] }
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
      "of another site."
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

/** Says of the members of MCP messages that they hold anything: a bare object is read as one without fields. */
const openMembers = ({ McpAnswer, McpMessage }: Json): void => {
  for (const schema of [McpAnswer, McpMessage]) {
    const { params, result } = isObject(schema) && isObject(schema.properties) ? schema.properties : {}
    for (const members of [params, result]) if (isObject(members)) members.additionalProperties = true
  }
}

/** What each error means, by the name of its schema. */
const errorDescriptions: { readonly [name: string]: string } = {
  InvalidRequest: "The request cannot be read, or fields of it are not valid. Nothing was charged.",
  UnsupportedGeo: "The country is not supported. Nothing was charged.",
  UnsupportedParameter: "The target does not serve page, num or safe as sent. Nothing was charged.",
  Unauthorized: "The request presents no credential that the operation accepts.",
  QuotaExceeded: "Quota and balance do not cover the request. Nothing was run or charged.",
  NotFound: "There is nothing at the address, or no such key in the account.",
  RateLimited: "The credential's requests of a minute are spent. Retry-After says when one can be admitted again.",
  InternalError: "A fault of the service. Nothing was charged.",
  UpstreamError: "The search provider could not be reached, or gave an unusable answer. Costs one credit.",
  UpstreamTimeout: "The search provider did not answer within 15 seconds. Costs one credit."
}

const describeErrors = (schemas: Json): void => {
  for (const [name, description] of Object.entries(errorDescriptions)) {
    const schema = schemas[name]
    if (isObject(schema)) schema.description = description
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

/** Where a deployment listens that nobody has configured: the committed document is the same everywhere. */
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
    completeRows(document.components.schemas)
    describeErrors(document.components.schemas)
    openMembers(document.components.schemas)
  }
  document.components = {
    ...(isObject(document.components) ? document.components : {}),
    headers,
    securitySchemes
  }
  return documentAt(document, defaultOrigin)
}
