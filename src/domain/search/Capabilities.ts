import {
  type CallOptions,
  callOptionsOf,
  type OptionSupport,
  queryWithSites,
  supportedOptions,
  unsupportedOption
} from "../options/OptionSupport.ts"
import { codePointLength } from "../text.ts"
import type { SearchRequest } from "./SearchRequest.ts"
import type { Safe } from "./Target.ts"

export type Paging =
  | { readonly kind: "fixed"; readonly pageSize: number; readonly maxPages?: number }
  | { readonly kind: "sized"; readonly maxPageSize: number; readonly maxPages?: number }
  | { readonly kind: "first"; readonly maxRows: number }

export type Codes = "any" | "none" | ReadonlyArray<string>

export interface Capabilities {
  readonly paging: Paging
  /** Searches with other levels are not sent, because their results would be filtered too little. */
  readonly safe: ReadonlyArray<Safe>
  /** ISO 3166-1 alpha-2 in lower case. Searches for other countries are sent without a country. */
  readonly countries: Codes
  /** ISO 639-1. Searches in other languages are sent without a language. */
  readonly languages: Codes
  readonly maxQueryCodePoints?: number
  readonly maxQueryWords?: number
  /** Supported search options (R62). Absent if there are none. */
  readonly options?: OptionSupport
}

export interface UpstreamCall {
  readonly query: string
  readonly page: number
  readonly rows: number
  readonly offset: number
  readonly safe: Safe
  readonly locale: string
  /** Undefined if the upstream does not support the country. */
  readonly country: string | undefined
  readonly language: string | undefined
  /** Absent for a search without options. */
  readonly options?: CallOptions
}

export interface CallPlan {
  readonly first: UpstreamCall
  readonly following: ReadonlyArray<UpstreamCall>
  readonly skip: number
}

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

/** Returns why the upstream cannot serve a search; undefined if it can. */
export const unsupportedReason = (capabilities: Capabilities, request: SearchRequest): string | undefined => {
  const { maxQueryCodePoints, maxQueryWords, paging, safe } = capabilities
  const option = unsupportedOption(capabilities, request)
  if (option !== undefined) return `it does not support ${option}`
  if (!safe.includes(request.safe)) return `it does not support safe ${request.safe}`
  const { first, size } = pageNumbers(paging, request)
  const pages = paging.kind === "first" ? undefined : paging.maxPages
  if ((paging.kind === "first" && size > paging.maxRows) || (pages !== undefined && first > pages)) {
    return `it does not support page ${request.page} of ${request.num} rows`
  }
  if (maxQueryCodePoints !== undefined && codePointLength(request.query) > maxQueryCodePoints) {
    return `it supports queries of up to ${maxQueryCodePoints} characters`
  }
  if (maxQueryWords !== undefined && request.query.split(" ").length > maxQueryWords) {
    return `it supports queries of up to ${maxQueryWords} words`
  }
  return undefined
}

/** The calls that together return the rows of a search (R13). `freshness` counts back from `nowMs`. */
export const planCalls = (capabilities: Capabilities, request: SearchRequest, nowMs = 0): CallPlan => {
  const { paging } = capabilities
  const { first, last, size, skip } = pageNumbers(paging, request)
  const lastPage = paging.kind === "first" ? 1 : Math.min(last, paging.maxPages ?? last)
  const options = request.options === undefined ? undefined : callOptionsOf(capabilities, request.options, nowMs)
  const query = queryWithSites(capabilities, request)
  const call = (page: number): UpstreamCall => ({
    query,
    page,
    rows: size,
    offset: (page - 1) * size,
    safe: request.safe,
    locale: request.locale,
    country: acceptedCode(capabilities.countries, request.geo),
    language: acceptedCode(capabilities.languages, request.locale.slice(0, 2)),
    ...(options === undefined ? {} : { options })
  })
  return {
    first: call(first),
    following: Array.from({ length: lastPage - first }, (_, index) => call(first + 1 + index)),
    skip
  }
}

export const toJson = ({
  countries,
  languages,
  maxQueryCodePoints,
  maxQueryWords,
  options,
  paging,
  safe
}: Capabilities) => ({
  paging: paging.kind,
  rows: paging.kind === "first" ? paging.maxRows : paging.kind === "fixed" ? paging.pageSize : paging.maxPageSize,
  max_pages: paging.kind === "first" ? 1 : (paging.maxPages ?? null),
  safe,
  countries,
  languages,
  max_query_code_points: maxQueryCodePoints ?? null,
  max_query_words: maxQueryWords ?? null,
  options: supportedOptions(options)
})
