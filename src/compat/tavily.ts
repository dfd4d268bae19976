import { Result } from "effect"
import { freshnessPeriods, type OptionFields } from "../domain/options/SearchOptions.ts"
import type { PageFormat } from "../domain/pages/PageRequest.ts"
import { decoder } from "../domain/requests/fields.ts"
import { countryCode } from "../domain/search/Country.ts"
import type { OrganicResult } from "../domain/search/OrganicResult.ts"
import { maxNum } from "../domain/search/SearchRequest.ts"
import { type CompatRequest, type CompatResults, jsonForm, type ShapeWithErrors } from "./Shape.ts"
import { type TavilyAnswer, type TavilyError, TavilyRequest, tavilyStatuses } from "./TavilyGroup.ts"

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
export const tavily: ShapeWithErrors = {
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
    })),
  toError: ({ _tag, message }) => ({
    status: tavilyStatuses[_tag],
    body: { detail: { error: message } } satisfies TavilyError
  })
}
