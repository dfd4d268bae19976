import { Result } from "effect"
import type { NotFound } from "../../domain/errors.ts"
import type { PageResult } from "../../domain/pages/PageBody.ts"
import { decoder } from "../../domain/requests/fields.ts"
import type { PageCompatError } from "../CompatError.ts"
import { jsonForm } from "../Shape.ts"
import {
  type FirecrawlAnswer,
  type FirecrawlError,
  FirecrawlRequest,
  firecrawlStatuses,
  firecrawlTimeoutStatus
} from "./FirecrawlGroup.ts"
import { type PageForm, toWholePage } from "./PageForm.ts"

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
export const firecrawl: PageForm = {
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

export const toFirecrawlError = (error: PageCompatError | NotFound) => ({
  status: isTimeout(error) ? firecrawlTimeoutStatus : firecrawlStatuses[error._tag],
  body: {
    success: false,
    error: error.message,
    ...(isTimeout(error) ? { code: "SCRAPE_TIMEOUT" } : {})
  } satisfies FirecrawlError
})
