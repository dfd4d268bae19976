import { Result } from "effect"
import type { PageFormat } from "../../domain/pages/PageRequest.ts"
import { decoder } from "../../domain/requests/fields.ts"
import { countryCode } from "../../domain/search/Country.ts"
import { matchDomains } from "../../domain/search/Domain.ts"
import type { OrganicResult } from "../../domain/search/OrganicResult.ts"
import { maxNum } from "../../domain/search/SearchRequest.ts"
import { readJson } from "../requests/body.ts"
import type { CompatError } from "./CompatError.ts"
import type { CompatRequest, CompatResults, Shape } from "./Shape.ts"
import { type TavilyAnswer, type TavilyError, TavilyRequest, tavilyStatuses } from "./TavilyGroup.ts"

const defaultResults = 5

const makeFilter = ({ exclude_domains: excluded = [], include_domains: included = [] }: TavilyRequest) => {
  const isIncluded = included.length === 0 ? () => true : matchDomains(included)
  const isExcluded = matchDomains(excluded)
  return ({ url }: OrganicResult): boolean => isIncluded(url) && !isExcluded(url)
}

const toRow =
  (texts: CompatResults["texts"]) =>
  ({ position, snippet, title, url }: OrganicResult): TavilyAnswer["results"][number] => ({
    title,
    url,
    content: snippet,
    score: 1 / position,
    raw_content: texts?.get(url) ?? null
  })

const delivered = (request: TavilyRequest, { results }: CompatResults): ReadonlyArray<OrganicResult> =>
  results.filter(makeFilter(request)).slice(0, request.max_results ?? defaultResults)

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

const decode = decoder(TavilyRequest)

/** Tavily's search. Requests more results if domain lists will filter them. */
export const tavily: Shape = {
  name: "tavily",
  fields: Object.keys(TavilyRequest.fields),
  takesKeyInBody: true,
  read: readJson,
  decode: (fields) =>
    Result.map(decode(fields), (request) => ({
      query: request.query,
      geo: request.country === undefined ? undefined : (countryCode(request.country) ?? request.country),
      num: hasFilter(request) ? maxNum : (request.max_results ?? defaultResults),
      safe: request.safe_search === true ? "strict" : "off",
      pages: pagesOf(request),
      answer: answerTo(request)
    }))
}

export const toTavilyError = ({ _tag, message }: CompatError) => ({
  status: tavilyStatuses[_tag],
  body: { detail: { error: message } } satisfies TavilyError
})
