import type { SearchRequest } from "../search/SearchRequest.ts"
import { codePointLength } from "../text.ts"
import { dayOf } from "./published.ts"
import {
  datesOf,
  type Freshness,
  maxDomains,
  namesOf,
  type OptionName,
  optionNames,
  type SearchOptions
} from "./SearchOptions.ts"

/** The ways of an upstream to limit a search to domains. */
export type DomainSupport =
  /** Parameters of its own. */
  | { readonly kind: "native"; readonly max: number }
  /** `site:` operators in the query, joined by `or` if it supports several, and `-site:` if it can exclude. */
  | { readonly kind: "operators"; readonly or?: string; readonly canExclude?: boolean }

/**
 * The options that an upstream can serve. `exclude_domains` is not listed: every provider supports it, because Quarry
 * removes the results of these domains anyway.
 */
export interface OptionSupport {
  /** The periods that it has a parameter for. Upstreams with `dates` support all of them without it. */
  readonly freshness?: ReadonlyArray<Freshness>
  /** It filters by any first and last date. */
  readonly dates?: boolean
  readonly domains?: DomainSupport
  readonly news?: boolean
}

/** The options of a call, for the adapter. Domains are empty if they are operators of the query. */
export interface CallOptions {
  readonly freshness: Freshness | undefined
  /** Dates, `YYYY-MM-DD`. For `freshness`, `after` is its first day. */
  readonly after: string | undefined
  readonly before: string | undefined
  readonly today: string
  readonly includeDomains: ReadonlyArray<string>
  readonly excludeDomains: ReadonlyArray<string>
  readonly isNews: boolean
}

interface Capable {
  readonly maxQueryCodePoints?: number
  readonly maxQueryWords?: number
  readonly options?: OptionSupport
}

const fits = ({ maxQueryCodePoints, maxQueryWords }: Capable, query: string): boolean =>
  (maxQueryCodePoints === undefined || codePointLength(query) <= maxQueryCodePoints) &&
  (maxQueryWords === undefined || query.split(" ").length <= maxQueryWords)

const including = (sites: ReadonlyArray<string>, or: string | undefined): string => {
  const operators = sites.map((site) => `site:${site}`)
  return operators.length <= 1 ? operators.join("") : `(${operators.join(` ${or} `)})`
}

const joined = (...parts: ReadonlyArray<string>): string => parts.filter((part) => part !== "").join(" ")

/** The query with `site:` operators. Exclusions are left out if they would make it too long. */
export const queryWithSites = (capable: Capable, { options, query }: SearchRequest): string => {
  const domains = capable.options?.domains
  if (options === undefined || domains?.kind !== "operators") return query
  const included = joined(query, including(options.includeDomains ?? [], domains.or))
  if (domains.canExclude !== true) return included
  const whole = joined(included, ...(options.excludeDomains ?? []).map((site) => `-site:${site}`))
  return fits(capable, whole) ? whole : included
}

/** The part of a request that decides which options an upstream can serve. */
type Asked = Pick<SearchRequest, "query" | "options">

const servesIncluded = (capable: Capable, request: Asked): boolean => {
  const domains = capable.options?.domains
  const count = request.options?.includeDomains?.length ?? 0
  if (domains === undefined) return false
  if (domains.kind === "native") return count <= domains.max
  if (count > 1 && domains.or === undefined) return false
  return fits(capable, joined(request.query, including(request.options?.includeDomains ?? [], domains.or)))
}

const serves = (capable: Capable, request: Asked, option: OptionName): boolean => {
  const { dates = false, freshness = [], news = false } = capable.options ?? {}
  switch (option) {
    case "freshness":
      return dates || (request.options?.freshness !== undefined && freshness.includes(request.options.freshness))
    case "after":
    case "before":
      return dates
    case "include_domains":
      return servesIncluded(capable, request)
    case "exclude_domains":
      return true
    case "topic":
      return news
  }
}

/** The first option of the search that the upstream does not support. */
export const unsupportedOption = (capable: Capable, request: SearchRequest): OptionName | undefined =>
  request.options === undefined
    ? undefined
    : namesOf(request.options).find((option) => !serves(capable, request, option))

/** The options of a search as its adapter reads them. */
export const callOptionsOf = ({ options }: Capable, asked: SearchOptions, nowMs: number): CallOptions => {
  const { after, before } = datesOf(asked, nowMs)
  const native = options?.domains?.kind === "native" ? options.domains.max : 0
  return {
    freshness: asked.freshness,
    after,
    before,
    today: dayOf(nowMs),
    includeDomains: native === 0 ? [] : (asked.includeDomains ?? []),
    excludeDomains: (asked.excludeDomains ?? []).slice(0, native),
    isNews: asked.topic === "news"
  }
}

/** The names of the options that an upstream supports, for operators. */
export const supportedOptions = (options: OptionSupport | undefined): ReadonlyArray<OptionName> => {
  const probe: Asked = { query: "", options: { freshness: "week", includeDomains: ["example.org"] } }
  return optionNames.filter((name) => serves({ options: options ?? {} }, probe, name))
}

/** The most entries of a list that the API accepts, for upstreams without a lower limit. */
export const anyDomains: DomainSupport = { kind: "native", max: maxDomains }
