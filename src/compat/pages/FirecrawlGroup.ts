import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { statuses } from "../../http/errors.ts"
import { errorsOf } from "../CompatError.ts"
import { documented } from "../endpoints.ts"

const maxAgeMessage = "must be a number of milliseconds, 0 or more"

const Format = Schema.Union([Schema.String, Schema.Struct({ type: Schema.String })])

const maxFormats = 20

export const FirecrawlRequest = Schema.Struct({
  url: Schema.String.annotate({ message: "must be an address" }).pipe(
    Schema.annotateKey({ messageMissingKey: "is required" })
  ),
  formats: Schema.optionalKey(
    Schema.Array(Format)
      .annotate({
        message: "must be a list of formats",
        description: "`markdown` and `links` are available; others are left out."
      })
      .check(Schema.isMaxLength(maxFormats, { message: `must have at most ${maxFormats} formats` }))
  ),
  maxAge: Schema.optionalKey(
    Schema.Number.annotate({ message: maxAgeMessage, description: "Maximum age of a copy in milliseconds" }).check(
      Schema.isFinite({ message: maxAgeMessage }),
      Schema.isGreaterThanOrEqualTo(0, { message: maxAgeMessage })
    )
  )
}).annotate({ identifier: "FirecrawlRequest", message: "the body must be a JSON object with a url" })
export type FirecrawlRequest = typeof FirecrawlRequest.Type

const text = Schema.optionalKey(Schema.String)

export const FirecrawlAnswer = Schema.Struct({
  success: Schema.Literal(true),
  data: Schema.Struct({
    markdown: text,
    links: Schema.optionalKey(Schema.Array(Schema.String)),
    warning: Schema.optionalKey(Schema.String.annotate({ description: "The formats that are not available" })),
    metadata: Schema.Struct({
      title: text,
      description: text,
      author: text,
      ogSiteName: text,
      publishedTime: text,
      language: text,
      sourceURL: Schema.String.annotate({ description: "The requested address" }),
      url: Schema.String.annotate({ description: "The address after redirects" }),
      statusCode: Schema.Int,
      contentType: Schema.String
    })
  })
}).annotate({ identifier: "FirecrawlAnswer", description: "A response in Firecrawl's format" })
export type FirecrawlAnswer = typeof FirecrawlAnswer.Type

export const FirecrawlError = Schema.Struct({
  success: Schema.Literal(false),
  error: Schema.String.annotate({ description: "Human-readable error message" }),
  code: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "FirecrawlError", description: "An error in Firecrawl's format" })
export type FirecrawlError = typeof FirecrawlError.Type

/** Statuses whose message Firecrawl's clients show. They have no message for 422. */
export const firecrawlStatuses = { ...statuses, page_unreadable: 403 }

export const firecrawlTimeoutStatus = 408

const errors = errorsOf(FirecrawlError, firecrawlStatuses, firecrawlStatuses.page_unreadable, firecrawlTimeoutStatus)

const scrape = { payload: FirecrawlRequest, success: FirecrawlAnswer, error: errors }

const described = (version: string) =>
  documented({
    identifier: `compatFirecrawl${version}`,
    summary: `Read a page as in Firecrawl ${version.toLowerCase()}`,
    description:
      "Firecrawl's scrape, with Markdown, links and metadata of the main content, without a browser. Costs a credit if " +
      "the page was read."
  })

export class FirecrawlGroup extends HttpApiGroup.make("compatFirecrawl")
  .add(
    HttpApiEndpoint.post("v1", "/compat/firecrawl/v1/scrape", scrape).annotateMerge(described("V1")),
    HttpApiEndpoint.post("v2", "/compat/firecrawl/v2/scrape", scrape).annotateMerge(described("V2"))
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Firecrawl", description: "For programs with a configurable address of Firecrawl" })
  ) {}
