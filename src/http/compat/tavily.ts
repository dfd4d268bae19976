import { Result } from "effect"
import { decoder } from "../../domain/requests/fields.ts"
import { countryCode } from "../../domain/search/Country.ts"
import { matchDomains } from "../../domain/search/Domain.ts"
import type { OrganicResult } from "../../domain/search/OrganicResult.ts"
import { maxNum } from "../../domain/search/SearchRequest.ts"
import { readJson } from "../requests/body.ts"
import type { CompatResults, ShapeWithErrors } from "./Shape.ts"
import { type TavilyAnswer, type TavilyError, TavilyRequest, tavilyStatuses } from "./TavilyGroup.ts"

const defaultResults = 5

const makeFilter = ({ exclude_domains: excluded = [], include_domains: included = [] }: TavilyRequest) => {
  const isIncluded = included.length === 0 ? () => true : matchDomains(included)
  const isExcluded = matchDomains(excluded)
  return ({ url }: OrganicResult): boolean => isIncluded(url) && !isExcluded(url)
}

const toRow = ({ position, snippet, title, url }: OrganicResult): TavilyAnswer["results"][number] => ({
  title,
  url,
  content: snippet,
  score: 1 / position,
  raw_content: null
})

const answerTo =
  (request: TavilyRequest) =>
  ({ durationMs, query, requestId, results }: CompatResults): TavilyAnswer => ({
    query,
    answer: null,
    images: [],
    results: results
      .filter(makeFilter(request))
      .slice(0, request.max_results ?? defaultResults)
      .map(toRow),
    response_time: durationMs / 1000,
    request_id: requestId
  })

const hasFilter = ({ exclude_domains: excluded = [], include_domains: included = [] }: TavilyRequest): boolean =>
  excluded.length + included.length > 0

const decode = decoder(TavilyRequest)

/** Tavily's search. Requests more results if domain lists will filter them. */
export const tavily: ShapeWithErrors = {
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
      answer: answerTo(request)
    })),
  toError: ({ _tag, message }) => ({
    status: _tag === "not_found" ? 404 : tavilyStatuses[_tag],
    body: { detail: { error: message } } satisfies TavilyError
  })
}
