import type { SearchRequest } from "./SearchRequest.ts"
import type { Safe } from "./Target.ts"
import { codePointLength } from "./text.ts"

/** The paging of an upstream's result list. */
export type Paging =
  /** Numbered pages of the upstream's own size. */
  | { readonly kind: "fixed"; readonly pageSize: number; readonly maxPages?: number }
  /** Numbered pages of the requested size. `maxPageSize` is at least our largest page. */
  | { readonly kind: "sized"; readonly maxPageSize: number; readonly maxPages?: number }
  /** The first rows and no others. */
  | { readonly kind: "first"; readonly maxRows: number }

/** The country or language codes that an upstream accepts. */
export type Codes = "any" | "none" | ReadonlyArray<string>

/** The searches that an upstream can serve. */
export interface Capabilities {
  readonly paging: Paging
  /** Levels that it applies. Searches of other levels are not sent to it, because its results would be less filtered. */
  readonly safe: ReadonlyArray<Safe>
  /** Countries that it accepts, ISO 3166-1 alpha-2 in lower case. Searches for others are sent without a country. */
  readonly countries: Codes
  /** Languages that it accepts, ISO 639-1. Searches in others are sent without a language. */
  readonly languages: Codes
  readonly maxQueryCodePoints?: number
  readonly maxQueryWords?: number
}

/** One call to an upstream, in the parameters that upstreams have. */
export interface UpstreamCall {
  readonly query: string
  /** From 1. */
  readonly page: number
  /** Rows on a page. */
  readonly rows: number
  /** The rank of the page's first row, from 0. */
  readonly offset: number
  readonly safe: Safe
  /** Language and region of the search, `en-us`, for upstreams that accept any. */
  readonly locale: string
  /** Undefined where the upstream does not accept the country. */
  readonly country: string | undefined
  readonly language: string | undefined
}

export interface CallPlan {
  readonly first: UpstreamCall
  /** The pages after the first, in order. */
  readonly following: ReadonlyArray<UpstreamCall>
  /** Rows of the first page that come before the requested ones. */
  readonly skip: number
}

/** The upstream's pages that cover a page of the API: their numbers, their size, and the rows to skip on the first. */
const pageNumbers = (
  paging: Paging,
  { num, page }: Pick<SearchRequest, "num" | "page">
): { readonly first: number; readonly last: number; readonly size: number; readonly skip: number } => {
  const before = (page - 1) * num
  if (paging.kind === "first") return { first: 1, last: 1, size: before + num, skip: before }
  const size = paging.kind === "fixed" ? paging.pageSize : Math.min(num, paging.maxPageSize)
  const first = Math.floor(before / size) + 1
  return { first, last: Math.ceil((before + num) / size), size, skip: before - (first - 1) * size }
}

const acceptedCode = (codes: Codes, code: string): string | undefined =>
  codes === "any" || (codes !== "none" && codes.includes(code)) ? code : undefined

/** The reason for which the upstream cannot serve a search; undefined where it can. */
export const unsupportedReason = (capabilities: Capabilities, request: SearchRequest): string | undefined => {
  const { maxQueryCodePoints, maxQueryWords, paging, safe } = capabilities
  if (!safe.includes(request.safe)) return `it does not serve safe ${request.safe}`
  const { first, size } = pageNumbers(paging, request)
  const pages = paging.kind === "first" ? undefined : paging.maxPages
  if ((paging.kind === "first" && size > paging.maxRows) || (pages !== undefined && first > pages)) {
    return `it does not serve page ${request.page} of ${request.num} rows`
  }
  if (maxQueryCodePoints !== undefined && codePointLength(request.query) > maxQueryCodePoints) {
    return `it takes queries of up to ${maxQueryCodePoints} characters`
  }
  if (maxQueryWords !== undefined && request.query.split(" ").length > maxQueryWords) {
    return `it takes queries of up to ${maxQueryWords} words`
  }
  return undefined
}

/** The calls that together give the rows of a search that the upstream can serve (R13). */
export const planCalls = (capabilities: Capabilities, request: SearchRequest): CallPlan => {
  const { paging } = capabilities
  const { first, last, size, skip } = pageNumbers(paging, request)
  const lastPage = paging.kind === "first" ? 1 : Math.min(last, paging.maxPages ?? last)
  const call = (page: number): UpstreamCall => ({
    query: request.query,
    page,
    rows: size,
    offset: (page - 1) * size,
    safe: request.safe,
    locale: request.locale,
    country: acceptedCode(capabilities.countries, request.geo),
    language: acceptedCode(capabilities.languages, request.locale.slice(0, 2))
  })
  return {
    first: call(first),
    following: Array.from({ length: lastPage - first }, (_, index) => call(first + 1 + index)),
    skip
  }
}

/** The form in which operators see it, on the admin listener and in the CLI. */
export const toJson = ({ countries, languages, maxQueryCodePoints, maxQueryWords, paging, safe }: Capabilities) => ({
  paging: paging.kind,
  rows: paging.kind === "first" ? paging.maxRows : paging.kind === "fixed" ? paging.pageSize : paging.maxPageSize,
  max_pages: paging.kind === "first" ? 1 : (paging.maxPages ?? null),
  safe,
  countries,
  languages,
  max_query_code_points: maxQueryCodePoints ?? null,
  max_query_words: maxQueryWords ?? null
})
