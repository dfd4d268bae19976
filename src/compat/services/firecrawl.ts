import { Result, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import type { NotFound } from "../../domain/errors.ts"
import type { PageResult } from "../../domain/pages/PageBody.ts"
import { decoder } from "../../domain/requests/fields.ts"
import { statuses } from "../../http/errors.ts"
import { errorsOf, type PageCompatError } from "../CompatError.ts"
import type { CompatService } from "../CompatService.ts"
import { documented } from "../endpoints.ts"
import { exampleAddress, examplePage } from "../examples.ts"
import { type PageForm, toWholePage } from "../PageForm.ts"
import { jsonForm } from "../SearchForm.ts"

const maxAgeMessage = "must be a number of milliseconds, 0 or more"

const Format = Schema.Union([Schema.String, Schema.Struct({ type: Schema.String })])

const maxFormats = 20

const FirecrawlRequest = Schema.Struct({
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
type FirecrawlRequest = typeof FirecrawlRequest.Type

const text = Schema.optionalKey(Schema.String)

const FirecrawlAnswer = Schema.Struct({
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
type FirecrawlAnswer = typeof FirecrawlAnswer.Type

const FirecrawlError = Schema.Struct({
  success: Schema.Literal(false),
  error: Schema.String.annotate({ description: "Human-readable error message" }),
  code: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "FirecrawlError", description: "An error in Firecrawl's format" })
type FirecrawlError = typeof FirecrawlError.Type

/** Statuses whose message Firecrawl's clients show. They have no message for 422. */
const firecrawlStatuses = { ...statuses, page_unreadable: 403 }

const firecrawlTimeoutStatus = 408

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

class FirecrawlGroup extends HttpApiGroup.make("compatFirecrawl")
  .add(
    HttpApiEndpoint.post("v1", "/compat/firecrawl/v1/scrape", scrape).annotateMerge(described("V1")),
    HttpApiEndpoint.post("v2", "/compat/firecrawl/v2/scrape", scrape).annotateMerge(described("V2"))
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Firecrawl", description: "For programs with a configurable address of Firecrawl" })
  ) {}

const formatsOf = ({ formats = [] }: FirecrawlRequest): ReadonlyArray<string> =>
  formats.map((format) => (typeof format === "string" ? format : format.type))

const available: ReadonlySet<string> = new Set(["markdown", "links"])

const maxNamedFormats = 5

/** A missing format is not an error, because programs request HTML and Markdown together and use either. */
const warningOf = (formats: ReadonlyArray<string>): Pick<FirecrawlAnswer["data"], "warning"> => {
  const missing = formats.filter((format) => !available.has(format)).slice(0, maxNamedFormats)
  return missing.length === 0 ? {} : { warning: `Not available: ${missing.join(", ").slice(0, 200)}.` }
}

/** Metadata that the page has. Firecrawl's clients expect absent fields and not null. */
const metadataOf = (page: PageResult): FirecrawlAnswer["data"]["metadata"] => ({
  ...(page.title === null ? {} : { title: page.title }),
  ...(page.description === null ? {} : { description: page.description }),
  ...(page.author === null ? {} : { author: page.author }),
  ...(page.site_name === null ? {} : { ogSiteName: page.site_name }),
  ...(page.published === null ? {} : { publishedTime: page.published }),
  ...(page.language === null ? {} : { language: page.language }),
  sourceURL: page.url,
  url: page.final_url,
  statusCode: 200,
  contentType: page.media_type
})

const answerTo = (formats: ReadonlyArray<string>) => (page: PageResult) => {
  const hasMarkdown = formats.includes("markdown") || !formats.some((format) => available.has(format))
  const json: FirecrawlAnswer = {
    success: true,
    data: {
      ...(hasMarkdown ? { markdown: page.content } : {}),
      ...(formats.includes("links") ? { links: (page.links ?? []).map(({ url }) => url) } : {}),
      ...warningOf(formats),
      metadata: metadataOf(page)
    }
  }
  return { json }
}

const decode = decoder(FirecrawlRequest)

/** Firecrawl's scrape. Versions 1 and 2 differ in fields that have no meaning here. */
const page: PageForm = {
  ...jsonForm("firecrawl", FirecrawlRequest),
  decode: (fields) =>
    Result.flatMap(decode(fields), (asked) => {
      const formats = formatsOf(asked)
      const maxAgeSeconds = asked.maxAge === undefined ? undefined : asked.maxAge / 1000
      const source = "compat:firecrawl"
      return Result.map(
        toWholePage({ url: asked.url, source, maxAgeSeconds, withLinks: formats.includes("links") }),
        (request) => ({ request, answer: answerTo(formats) })
      )
    })
}

const isTimeout = (error: PageCompatError | NotFound): boolean =>
  error._tag === "page_unreadable" && error.reason === "timed_out"

const toError = (error: PageCompatError | NotFound) => ({
  status: isTimeout(error) ? firecrawlTimeoutStatus : firecrawlStatuses[error._tag],
  body: {
    success: false,
    error: error.message,
    ...(isTimeout(error) ? { code: "SCRAPE_TIMEOUT" } : {})
  } satisfies FirecrawlError
})

const exampleRequest: FirecrawlRequest = { url: exampleAddress, formats: ["markdown"] }

const example = { request: exampleRequest, response: answerTo(formatsOf(exampleRequest))(examplePage).json }

export const firecrawl: CompatService = {
  name: "firecrawl",
  routes: [{ group: FirecrawlGroup, page }],
  toError,
  examples: { compatFirecrawlV1: example, compatFirecrawlV2: example }
}
