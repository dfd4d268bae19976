import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import type { PageCompatError } from "./PageForm.ts"

/** The address is in the path and the rest in headers, whose names the schema has in lower case. */
export const JinaFields = Schema.Struct({
  url: Schema.String.pipe(Schema.annotateKey({ messageMissingKey: "is required: /compat/jina/https://example.org" })),
  accept: Schema.optionalKey(Schema.String),
  "x-return-format": Schema.optionalKey(
    Schema.Literals(["content", "markdown", "text"]).annotate({ message: "must be content, markdown or text" })
  ),
  "x-no-cache": Schema.optionalKey(Schema.String),
  "x-cache-tolerance": Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^\d{1,9}$/, { message: "must be a number of seconds" }))
  ),
  "x-with-links-summary": Schema.optionalKey(Schema.String)
})
export type JinaFields = typeof JinaFields.Type

const text = Schema.optionalKey(Schema.String)

export const JinaAnswer = Schema.Struct({
  code: Schema.Literal(200),
  status: Schema.Literal(20000),
  data: Schema.Struct({
    title: Schema.String,
    description: Schema.String,
    url: Schema.String.annotate({ description: "The address after redirects" }),
    content: Schema.String,
    publishedTime: text,
    links: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
  })
}).annotate({ identifier: "JinaAnswer", description: "A response in the format of Jina's reader" })
export type JinaAnswer = typeof JinaAnswer.Type

export const JinaError = Schema.Struct({
  data: Schema.Null,
  code: Schema.Int,
  name: Schema.String,
  status: Schema.Int,
  message: Schema.String,
  readableMessage: Schema.String
}).annotate({ identifier: "JinaError", description: "An error in the format of Jina's reader" })
export type JinaError = typeof JinaError.Type

interface JinaFailure {
  readonly code: number
  readonly name: string
  readonly status: number
}

export const jinaFailures: Readonly<Record<PageCompatError["_tag"], JinaFailure>> = {
  invalid_request: { code: 400, name: "ParamValidationError", status: 40001 },
  unsupported_geo: { code: 400, name: "ParamValidationError", status: 40001 },
  unsupported_parameter: { code: 400, name: "ParamValidationError", status: 40001 },
  unauthorized: { code: 401, name: "AuthenticationRequiredError", status: 40103 },
  quota_exceeded: { code: 402, name: "InsufficientBalanceError", status: 40203 },
  page_unreadable: { code: 422, name: "AssertionFailureError", status: 42206 },
  rate_limited: { code: 429, name: "RateLimitTriggeredError", status: 42903 },
  internal_error: { code: 500, name: "InternalServerError", status: 50000 },
  upstream_error: { code: 502, name: "UpstreamError", status: 50200 },
  upstream_timeout: { code: 504, name: "UpstreamTimeoutError", status: 50400 }
}

const errors = [...new Set(Object.values(jinaFailures).map(({ code }) => code))].map((code) =>
  JinaError.pipe(HttpApiSchema.status(code))
)

const header = (name: string, description: string) => ({
  name,
  in: "header",
  required: false,
  description,
  schema: { type: "string" }
})

const parameters = [
  {
    name: "address",
    in: "path",
    required: true,
    description: "The page's address with its query string, as it is written",
    schema: { type: "string" }
  },
  header("X-Return-Format", "content (the default, with a head of metadata), markdown or text"),
  header("X-No-Cache", "true always fetches the page"),
  header("X-Cache-Tolerance", "Maximum age of a copy in seconds"),
  header("X-With-Links-Summary", "true adds the links of the main text")
]

const security = [{ apiKey: [] }, { apiKeyBasic: [] }, { apiKeyHeader: [] }, { subscriptionToken: [] }]

export class JinaGroup extends HttpApiGroup.make("compatJina")
  .add(
    HttpApiEndpoint.get("read", "/compat/jina/:address", {
      params: { address: Schema.String },
      success: JinaAnswer,
      error: errors
    })
      .annotateMerge(OpenApi.annotations({ override: { security, parameters } }))
      .annotateMerge(
        OpenApi.annotations({
          identifier: "compatJina",
          summary: "Read a page as in Jina's reader",
          description:
            "Everything after /compat/jina/ is the page's address. The response is plain text, or JSON with Accept: " +
            "application/json. Costs a credit if the page was read."
        })
      )
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Jina", description: "For programs with a configurable address of Jina's reader" })
  ) {}
