import { defaultGeo, geos } from "../domain/Geo.ts"
import { defaultNum, maxNum, maxPage, maxQueryCodePoints, maxSourceCodePoints } from "../domain/SearchRequest.ts"
import { safeLevels, targets } from "../domain/Target.ts"

/**
 * What the generated document cannot know: the query parameters' rules (they are text to `HttpApi`), the headers that
 * middleware sets, and which credentials are accepted. Everything else comes from the API's declaration.
 */

interface Json {
  [key: string]: unknown
}

/** What each field of a search takes, in a query string and in a row of a batch. */
const searchFields: { readonly [name: string]: Json } = {
  query: {
    type: "string",
    minLength: 1,
    maxLength: maxQueryCodePoints,
    description:
      "What to search for. Surrounding whitespace is trimmed and runs of it collapse to one space before the length check."
  },
  target: { type: "string", enum: targets, default: targets[0], description: "The search target." },
  geo: {
    type: "string",
    enum: geos,
    default: defaultGeo,
    description: "Country (ISO 3166-1 alpha-2), in either letter case."
  },
  locale: {
    type: "string",
    pattern: "^[A-Za-z]{2}-[A-Za-z]{2}$",
    description: "Language and region as xx-yy, in either letter case. Derived from geo when absent."
  },
  page: {
    type: "integer",
    minimum: 1,
    maximum: maxPage,
    default: 1,
    description: "Result page, subject to what the target serves."
  },
  num: {
    type: "integer",
    minimum: 1,
    maximum: maxNum,
    default: defaultNum,
    description: "Most results wanted, subject to what the target serves."
  },
  safe: {
    type: "string",
    enum: safeLevels,
    default: "off",
    description: "Safe-search level, subject to what the target serves."
  },
  source: {
    type: "string",
    description: `Attribution label, stored with the query cut to ${maxSourceCodePoints} characters. Never changes results or cost.`
  }
}

const searchParameters = Object.entries(searchFields).map(([name, { description, ...schema }]) => ({
  name,
  in: "query",
  required: name === "query",
  description,
  schema
}))

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
  "X-Quota-Limit": integer("Requests the quota allows."),
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
export const responseHeaders = (operationId: string, status: string): ReadonlyArray<string> => [
  "X-Request-Id",
  ...(status === "401" || status === "500" ? [] : rateLimitHeaders),
  ...(status === "429" ? ["Retry-After"] : []),
  ...(spends.has(operationId) && ["200", "402", "502", "504"].includes(status) ? quotaHeaders : [])
]

const reference = (name: string): Json => ({ $ref: `#/components/headers/${name}` })

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null

/**
 * Response objects may gain fields within a version, so clients must not be told to reject them; and the bounds of a
 * JavaScript integer are no rule of ours.
 */
const relax = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(relax)
  if (!isObject(value)) return value
  const entries = Object.entries(value).filter(
    ([key, item]) =>
      !(key === "additionalProperties" && item === false) &&
      !((key === "minimum" || key === "maximum") && Math.abs(Number(item)) === Number.MAX_SAFE_INTEGER)
  )
  return Object.fromEntries(entries.map(([key, item]) => [key, relax(item)]))
}

const completeOperation = (operation: Json): void => {
  const id = String(operation.operationId)
  operation.security = [{ apiKey: [] }]
  if (id === "query") operation.parameters = searchParameters
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
  BulkRequest.properties = complete(BulkRequest.properties)
  const { queries } = BulkRequest.properties as Json // `complete` answers an object.
  if (isObject(queries)) queries.items = { anyOf: [searchFields.query, { $ref: "#/components/schemas/BulkRow" }] }
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
    securitySchemes: {
      apiKey: {
        type: "http",
        scheme: "bearer",
        description: "A secret API key: sk_live_… or sk_test_…"
      }
    }
  }
  return document
}
