import { Result, Schema } from "effect"
import { HttpApiEndpoint } from "effect/http-api"
import { dateText, freshnessPeriods, type OptionFields } from "../../domain/options/SearchOptions.ts"
import type { PageFormat } from "../../domain/pages/PageRequest.ts"
import { maxPageRows } from "../../domain/pages/PagesRequest.ts"
import { acrossFields, decoder, Text } from "../../domain/requests/fields.ts"
import { countryCode } from "../../domain/search/Country.ts"
import type { OrganicResult } from "../../domain/search/OrganicResult.ts"
import { maxNum } from "../../domain/search/SearchRequest.ts"
import { statuses } from "../../http/errors.ts"
import { errorsOf } from "../CompatError.ts"
import type { CompatService } from "../CompatService.ts"
import { groupOf } from "../endpoints.ts"
import { exampleAddress, examplePages, exampleResults } from "../examples.ts"
import { Count, domains, LongQuery } from "../fields.ts"
import { type PagesForm, type ReadPages, toWholePage } from "../PageForm.ts"
import { type CompatRequest, type CompatResults, jsonForm, type SearchForm } from "../SearchForm.ts"

const rawContentMessage = "must be true, false, markdown or text"

const RawContent = Schema.Union([Schema.Boolean, Schema.Literals(["markdown", "text"])]).annotate({
  message: rawContentMessage
})

const datesInOrder = acrossFields(({ end_date: before, start_date: after }) =>
  typeof after === "string" && typeof before === "string" && after > before
    ? { field: "start_date", message: "must not be later than end_date" }
    : undefined
)

export const TavilyRequest = Schema.Struct({
  query: LongQuery,
  max_results: Schema.optionalKey(Count.annotate({ description: "Maximum number of results; 5 if absent." })),
  country: Schema.optionalKey(Text.annotate({ description: "A country's English name or ISO 3166-1 code." })),
  safe_search: Schema.optionalKey(
    Schema.Boolean.annotate({
      message: "must be true or false",
      description: "True means strict. Ignored if the target has no safe search."
    })
  ),
  topic: Schema.optionalKey(Text.annotate({ description: "news searches for news; other topics are ignored." })),
  time_range: Schema.optionalKey(
    Schema.Literals([...freshnessPeriods, "d", "w", "m", "y"]).annotate({
      message: `must be one of ${freshnessPeriods.join(", ")}`,
      description: "Only results of the last day, week, month or year. Ignored beside start_date or end_date."
    })
  ),
  start_date: Schema.optionalKey(dateText({ description: "Only results published on this date or later, in UTC." })),
  end_date: Schema.optionalKey(dateText({ description: "Only results published on this date or earlier, in UTC." })),
  include_raw_content: Schema.optionalKey(
    RawContent.annotate({
      description: "The text of each result's page: true or markdown, or text. Each page costs a credit more."
    })
  ),
  include_domains: domains("Return only results from these sites."),
  exclude_domains: domains("Exclude results from these sites."),
  api_key: Schema.optionalKey(Text.annotate({ description: "The API key, if no header has one." }))
})
  .check(datesInOrder)
  .annotate({ identifier: "TavilyRequest", message: "the body must be a JSON object with a query" })
type TavilyRequest = typeof TavilyRequest.Type

const TavilyAnswer = Schema.Struct({
  query: Schema.String,
  answer: Schema.Null,
  images: Schema.Array(Schema.String).annotate({ description: "Always empty" }),
  results: Schema.Array(
    Schema.Struct({
      title: Schema.String,
      url: Schema.String,
      content: Schema.String,
      score: Schema.Finite.annotate({ description: "1 for the first result, 1/2 for the second, and so on" }),
      raw_content: Schema.NullOr(Schema.String).annotate({
        description: "The page's text, if requested and readable"
      }),
      published_date: Schema.optionalKey(
        Schema.String.annotate({ description: "Date or date-time of publication, if the engine gave one" })
      )
    })
  ),
  response_time: Schema.Finite.annotate({ description: "Seconds" }),
  request_id: Schema.String
}).annotate({ identifier: "TavilyAnswer", description: "A response in Tavily's format" })
type TavilyAnswer = typeof TavilyAnswer.Type

const TavilyError = Schema.Struct({
  detail: Schema.Struct({ error: Schema.String.annotate({ description: "Human-readable error message" }) })
}).annotate({ identifier: "TavilyError", description: "An error in Tavily's format" })
type TavilyError = typeof TavilyError.Type

/** Statuses known to Tavily's clients: 432 means that the credits are spent. */
const tavilyStatuses = { ...statuses, quota_exceeded: 432 }

const TavilyGroup = groupOf({
  name: "compatTavily",
  title: "Tavily",
  programs: "For programs with a configurable base address for Tavily",
  endpoint: HttpApiEndpoint.post("search", "/compat/tavily/search", {
    payload: TavilyRequest,
    success: TavilyAnswer,
    error: errorsOf(TavilyError, tavilyStatuses)
  }),
  summary: "Search as in Tavily",
  description: "Tavily's search, with links, snippets and, if requested, page contents, but no answers or images."
})

const defaultResults = 5

const toRow =
  (texts: CompatResults["texts"]) =>
  ({ position, published, snippet, title, url }: OrganicResult): TavilyAnswer["results"][number] => ({
    title,
    url,
    content: snippet,
    score: 1 / position,
    raw_content: texts?.get(url) ?? null,
    ...(published === undefined ? {} : { published_date: published })
  })

const delivered = (request: TavilyRequest, { results }: CompatResults): ReadonlyArray<OrganicResult> =>
  results.slice(0, request.max_results ?? defaultResults)

const formatOf = ({ include_raw_content: raw = false }: TavilyRequest): PageFormat | undefined =>
  raw === false ? undefined : raw === true ? "markdown" : raw

const pagesOf = (request: TavilyRequest): CompatRequest["pages"] => {
  const format = formatOf(request)
  if (format === undefined) return undefined
  return { format, urlsOf: (found) => delivered(request, found).map(({ url }) => url) }
}

const answerTo =
  (request: TavilyRequest) =>
  (found: CompatResults): TavilyAnswer => {
    const { durationMs, query, requestId, texts } = found
    return {
      query,
      answer: null,
      images: [],
      results: delivered(request, found).map(toRow(texts)),
      response_time: durationMs / 1000,
      request_id: requestId
    }
  }

const hasFilter = ({ exclude_domains: excluded = [], include_domains: included = [] }: TavilyRequest): boolean =>
  excluded.length + included.length > 0

/** Tavily prefers dates to a time range. */
const optionsOf = (request: TavilyRequest): OptionFields => {
  const { end_date: before, exclude_domains, include_domains, start_date: after, time_range, topic } = request
  const hasDates = after !== undefined || before !== undefined
  return {
    freshness: hasDates ? undefined : freshnessPeriods.find((period) => period.startsWith(time_range ?? "none")),
    after,
    before,
    include_domains,
    exclude_domains,
    topic: topic === "news" ? "news" : undefined
  }
}

const decode = decoder(TavilyRequest)

/** Tavily's search. Requests more results if Quarry may remove some of them for their domains. */
const search: SearchForm = {
  ...jsonForm("tavily", TavilyRequest),
  decode: (fields) =>
    Result.map(decode(fields), (request) => ({
      query: request.query,
      geo: request.country === undefined ? undefined : (countryCode(request.country) ?? request.country),
      num: hasFilter(request) ? maxNum : (request.max_results ?? defaultResults),
      safe: request.safe_search === true ? "strict" : "off",
      options: optionsOf(request),
      pages: pagesOf(request),
      answer: answerTo(request)
    }))
}

const urlsMessage = `must be an address, or a list of 1 to ${maxPageRows} addresses`

const TavilyExtractRequest = Schema.Struct({
  urls: Schema.Union([
    Schema.String,
    Schema.Array(Schema.String).check(
      Schema.isMinLength(1, { message: urlsMessage }),
      Schema.isMaxLength(maxPageRows, { message: urlsMessage })
    )
  ])
    .annotate({ message: urlsMessage })
    .pipe(Schema.annotateKey({ messageMissingKey: "is required" })),
  format: Schema.optionalKey(
    Schema.Literals(["markdown", "text"]).annotate({ message: "must be markdown or text", default: "markdown" })
  ),
  api_key: Schema.optionalKey(Text.annotate({ description: "The API key, if no header has one." }))
}).annotate({ identifier: "TavilyExtractRequest", message: "the body must be a JSON object with urls" })
type TavilyExtractRequest = typeof TavilyExtractRequest.Type

const TavilyExtractAnswer = Schema.Struct({
  results: Schema.Array(
    Schema.Struct({
      url: Schema.String,
      raw_content: Schema.String.annotate({ description: "The page's text" }),
      images: Schema.Array(Schema.String).annotate({ description: "Always empty" })
    })
  ),
  failed_results: Schema.Array(Schema.Struct({ url: Schema.String, error: Schema.String })),
  response_time: Schema.Finite.annotate({ description: "Seconds" }),
  request_id: Schema.String
}).annotate({ identifier: "TavilyExtractAnswer", description: "A response in the format of Tavily's extract" })
type TavilyExtractAnswer = typeof TavilyExtractAnswer.Type

const TavilyExtractGroup = groupOf({
  name: "compatTavilyExtract",
  title: "Tavily, pages",
  programs: "For programs that extract pages with Tavily",
  endpoint: HttpApiEndpoint.post("extract", "/compat/tavily/extract", {
    payload: TavilyExtractRequest,
    success: TavilyExtractAnswer,
    error: errorsOf(TavilyError, tavilyStatuses)
  }),
  summary: "Read pages as in Tavily",
  description: "Tavily's extract. Costs a credit for each page that was read, and nothing for the others."
})

const decodeExtract = decoder(TavilyExtractRequest)

/** Clients find the results by the addresses that they sent. */
const extractAnswerTo =
  (urls: ReadonlyArray<string>) =>
  ({ durationMs, requestId, rows }: ReadPages): Result.Result<TavilyExtractAnswer> => {
    const placed = rows.map((row, index) => ({ row, url: urls[index] ?? "" }))
    return Result.succeed({
      results: placed.flatMap(({ row, url }) =>
        row.status === "ok" ? [{ url, raw_content: row.content, images: [] }] : []
      ),
      failed_results: placed.flatMap(({ row, url }) => (row.status === "ok" ? [] : [{ url, error: row.message }])),
      response_time: durationMs / 1000,
      request_id: requestId
    })
  }

const extract: PagesForm = {
  ...jsonForm("tavily", TavilyExtractRequest),
  decode: (fields) =>
    Result.map(decodeExtract(fields), ({ format, urls }) => {
      const all = typeof urls === "string" ? [urls] : urls
      return {
        rows: all.map((url) => toWholePage({ url, format, source: "compat:tavily" })),
        answer: extractAnswerTo(all)
      }
    })
}

const exampleRequest: TavilyRequest = { query: exampleResults.query, max_results: 5, country: "germany" }

export const tavily: CompatService = {
  name: "tavily",
  routes: [
    { group: TavilyGroup, search },
    { group: TavilyExtractGroup, pages: extract }
  ],
  toError: ({ _tag, message }) => ({
    status: tavilyStatuses[_tag],
    body: { detail: { error: message } } satisfies TavilyError
  }),
  examples: {
    compatTavily: { request: exampleRequest, response: answerTo(exampleRequest)(exampleResults) },
    compatTavilyExtract: {
      request: { urls: [exampleAddress] } satisfies TavilyExtractRequest,
      response: Result.getOrThrow(extractAnswerTo([exampleAddress])(examplePages))
    }
  }
}
