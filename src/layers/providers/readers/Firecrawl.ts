import { Redacted, Schema } from "effect"
import * as UpstreamRequest from "../UpstreamRequest.ts"
import * as ReaderApi from "./ReaderApi.ts"

const text = Schema.optionalKey(Schema.NullOr(Schema.String))

const Response = Schema.Struct({
  success: Schema.Literal(true),
  data: Schema.Struct({
    markdown: text,
    metadata: Schema.optionalKey(
      Schema.Struct({
        title: Schema.optionalKey(Schema.Unknown),
        description: Schema.optionalKey(Schema.Unknown),
        language: Schema.optionalKey(Schema.Unknown),
        url: Schema.optionalKey(Schema.Unknown),
        statusCode: Schema.optionalKey(Schema.NullOr(Schema.Number))
      })
    )
  })
})

/** Pages may declare a field several times, which Firecrawl returns as a list. */
const first = (value: unknown): string | undefined => {
  const one = Array.isArray(value) ? value[0] : value
  return typeof one === "string" ? one : undefined
}

export const type = ReaderApi.type({
  url: "https://api.firecrawl.dev",
  needsKey: false,
  request: (page, { key, timeoutMs, url }) =>
    UpstreamRequest.post(
      `${url}/v2/scrape`,
      { url: page.href, formats: ["markdown"], onlyMainContent: true, timeout: timeoutMs },
      key === undefined ? {} : { authorization: `Bearer ${Redacted.value(key)}` }
    ),
  response: Response,
  outcome: ({ data: { markdown, metadata = {} } }) => {
    const httpStatus = metadata.statusCode ?? undefined
    const reason = ReaderApi.reasonOfSiteStatus(httpStatus)
    if (reason !== undefined) return { reason, httpStatus }
    return {
      markdown: markdown ?? "",
      url: first(metadata.url),
      title: first(metadata.title),
      description: first(metadata.description),
      language: first(metadata.language)
    }
  },
  dialect: { statuses: { 402: { reason: "quota" }, 408: { reason: "timeout" } } }
})
