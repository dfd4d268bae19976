import { geos } from "../domain/Geo.ts"
import { defaultEntries, maxEntries } from "../domain/QueryHistory.ts"
import { outcomes } from "../domain/QueryRecord.ts"
import { SearchFields } from "../domain/SearchRequest.ts"
import { targets } from "../domain/Target.ts"
import { granularities, groupings } from "../domain/Usage.ts"
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
    schema
  }))

const moment = (description: string): Json => ({ type: "string", description: `${description}, in ISO 8601.` })

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
    group_by: { type: "string", enum: groupings, description: "Counts each target or key by itself." }
  },
  recentQueries: { limit },
  queryHistory: {
    target: { type: "string", enum: targets, description: "Searches of this target." },
    status: { type: "string", enum: outcomes, description: "Searches that ended so." },
    key: { type: "string", description: "Searches made with this key, by its id." },
    batch: { type: "string", description: "Rows of this batch." },
    source: { type: "string", description: "Searches with this attribution label." },
    text: { type: "string", description: "Searches whose query holds this text, in any letter case." },
    from: moment("First moment listed"),
    to: moment("First moment not listed"),
    cursor: { type: "string", description: "next_cursor of the page before." },
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
  "X-Quota-Reset": integer("Unix second at which the quota resets; absent on the trial.")
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

/** The headers of a response: a 401 and a 500 know no credential, a 400 has spent nothing (R1). */
const responseHeaders = (operationId: string, status: string): ReadonlyArray<string> => [
  "X-Request-Id",
  ...(status === "401" || status === "500" ? [] : rateLimitHeaders),
  ...(status === "429" ? ["Retry-After"] : []),
  ...(spends.has(operationId) && ["200", "402", "502", "504"].includes(status) ? quotaHeaders : [])
]

const reference = (name: string): Json => ({ $ref: `#/components/headers/${name}` })

const completeOperation = (operation: Json): void => {
  const id = String(operation.operationId)
  const own = parameters[id]
  if (own !== undefined) operation.parameters = parametersOf(own)
  for (const [status, response] of Object.entries(isObject(operation.responses) ? operation.responses : {})) {
    if (!isObject(response)) continue
    response.headers = Object.fromEntries(responseHeaders(id, status).map((name) => [name, reference(name)]))
  }
}

/** Gives the rows of a batch the rules that their schemas lose where only the encoded side is shown. */
const completeRows = (schemas: Json): void => {
  const { BulkRequest, BulkRow } = schemas
  if (!isObject(BulkRequest) || !isObject(BulkRow)) return
  const complete = (properties: unknown): Json =>
    Object.fromEntries(
      Object.entries(isObject(properties) ? properties : {}).map(([name, own]) => [name, searchFields[name] ?? own])
    )
  BulkRow.properties = complete(BulkRow.properties)
  const { num } = BulkRequest.properties as Json // It is a struct.
  BulkRequest.properties = { ...complete(BulkRequest.properties), num }
  const { queries } = BulkRequest.properties as Json // `complete` answers an object.
  if (isObject(queries)) queries.items = { anyOf: [searchFields.query, { $ref: "#/components/schemas/BulkRow" }] }
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

/** Adds to the generated document what the declaration does not hold. */
export const completeDocument = (generated: Json): Json => {
  const document = relax(generated) as Json // `relax` keeps an object an object.
  for (const path of Object.values(isObject(document.paths) ? document.paths : {})) {
    for (const operation of Object.values(isObject(path) ? path : {})) {
      if (isObject(operation)) completeOperation(operation)
    }
  }
  if (isObject(document.components) && isObject(document.components.schemas)) completeRows(document.components.schemas)
  document.components = {
    ...(isObject(document.components) ? document.components : {}),
    headers,
    securitySchemes
  }
  return document
}
