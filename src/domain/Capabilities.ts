import { Result } from "effect"
import type { SearchRequest } from "./SearchRequest.ts"
import type { Safe } from "./Target.ts"
import { codePointLength } from "./text.ts"

/** How an upstream gives the rows of its result list. */
export type Paging =
  /** In numbered pages of its own size. */
  | { readonly kind: "fixed"; readonly pageSize: number; readonly maxPages?: number }
  /** In numbered pages of the size asked for, which must hold our largest page. */
  | { readonly kind: "sized"; readonly maxPageSize: number; readonly maxPages?: number }
  /** Its first rows and no others. */
  | { readonly kind: "first"; readonly maxRows: number }

/** The codes an upstream knows. */
export type Codes = "any" | "none" | ReadonlyArray<string>

/** What an upstream can serve. */
export interface Capabilities {
  readonly paging: Paging
  /** Levels it keeps to. A level missing here is refused: a page filtered less than asked for must not pass for one. */
  readonly safe: ReadonlyArray<Safe>
  /** Countries it can be told, ISO 3166-1 alpha-2 in lower case. Searches for others are asked without one. */
  readonly countries: Codes
  /** Languages it can be told, ISO 639-1. Searches in others are asked without one. */
  readonly languages: Codes
  readonly maxQueryCodePoints?: number
  readonly maxQueryWords?: number
}

/** One call to an upstream, in the terms that upstreams have. */
export interface UpstreamCall {
  readonly query: string
  /** From 1. */
  readonly page: number
  /** Rows that page holds. */
  readonly rows: number
  /** The rank of the page's first row, from 0. */
  readonly offset: number
  readonly safe: Safe
  /** The language and region asked for, `en-us`, for upstreams that take any. */
  readonly locale: string
  /** Undefined when the upstream cannot be told this country. */
  readonly country: string | undefined
  readonly language: string | undefined
}

export interface CallPlan {
  readonly first: UpstreamCall
  /** The pages after the first, in order. */
  readonly following: ReadonlyArray<UpstreamCall>
  /** Rows of the first page that come before those asked for. */
  readonly skip: number
}

/** Every page of an upstream that leaves the numbers to us can be told to be as large as ours. */
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

const known = (codes: Codes, code: string): string | undefined =>
  codes === "any" || (codes !== "none" && codes.includes(code)) ? code : undefined

/** Why the upstream cannot serve a search; undefined when it can. */
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

/** The calls that together give the rows of a search (R13), or why there are none. */
export const planCalls = (capabilities: Capabilities, request: SearchRequest): Result.Result<CallPlan, string> => {
  const why = unsupportedReason(capabilities, request)
  if (why !== undefined) return Result.fail(why)
  const { paging } = capabilities
  const { first, last, size, skip } = pageNumbers(paging, request)
  const lastServed = paging.kind === "first" ? 1 : Math.min(last, paging.maxPages ?? last)
  const call = (page: number): UpstreamCall => ({
    query: request.query,
    page,
    rows: size,
    offset: (page - 1) * size,
    safe: request.safe,
    locale: request.locale,
    country: known(capabilities.countries, request.geo),
    language: known(capabilities.languages, request.locale.slice(0, 2))
  })
  return Result.succeed({
    first: call(first),
    following: Array.from({ length: lastServed - first }, (_, index) => call(first + 1 + index)),
    skip
  })
}

/** As operators are shown it. */
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
