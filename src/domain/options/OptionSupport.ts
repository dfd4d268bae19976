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

export type DomainSupport =
  | { readonly kind: "native"; readonly max: number }
  | { readonly kind: "operators"; readonly or?: string; readonly canExclude?: boolean }

/** `exclude_domains` is missing because every provider supports it: Quarry removes excluded results itself. */
export interface OptionSupport {
  /** Periods with a parameter of their own. With `dates`, the other periods work too. */
  readonly freshness?: ReadonlyArray<Freshness>
  /** Both ends of a range of dates. */
  readonly dates?: boolean
  /** Only this end of a range. */
  readonly after?: boolean
  readonly before?: boolean
  readonly domains?: DomainSupport
  readonly news?: boolean
}

/** Domains are empty for providers that get them as operators in the query. */
export interface CallOptions {
  readonly freshness: Freshness | undefined
  /** `YYYY-MM-DD`. With `freshness`, `after` is its first day. */
  readonly after: string | undefined
  readonly before: string | undefined
  readonly today: string
  readonly includeDomains: ReadonlyArray<string>
  readonly excludeDomains: ReadonlyArray<string>
  readonly isNews: boolean
}

/** The parts of a search that decide whether a provider can serve its options. */
interface Asked {
  readonly query: string
  readonly options?: SearchOptions
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

/** Adds `site:` operators. Omits exclusions that would make the query too long. */
export const queryWithSites = (capable: Capable, { options, query }: Asked): string => {
  const domains = capable.options?.domains
  if (options === undefined || domains?.kind !== "operators") return query
  const included = joined(query, including(options.includeDomains ?? [], domains.or))
  if (domains.canExclude !== true) return included
  const whole = joined(included, ...(options.excludeDomains ?? []).map((site) => `-site:${site}`))
  return fits(capable, whole) ? whole : included
}

const servesIncluded = (capable: Capable, request: Asked): boolean => {
  const domains = capable.options?.domains
  const count = request.options?.includeDomains?.length ?? 0
  if (domains === undefined) return false
  if (domains.kind === "native") return count <= domains.max
  if (count > 1 && domains.or === undefined) return false
  return fits(capable, joined(request.query, including(request.options?.includeDomains ?? [], domains.or)))
}

const serves = (capable: Capable, request: Asked, option: OptionName): boolean => {
  const { dates = false, freshness = [], news = false, ...ends } = capable.options ?? {}
  switch (option) {
    case "freshness":
      return (
        dates ||
        ends.after === true ||
        (request.options?.freshness !== undefined && freshness.includes(request.options.freshness))
      )
    case "after":
    case "before":
      return dates || ends[option] === true
    case "include_domains":
      return servesIncluded(capable, request)
    case "exclude_domains":
      return true
    case "topic":
      return news
  }
}

export const unsupportedOption = (capable: Capable, request: Asked): OptionName | undefined =>
  request.options === undefined
    ? undefined
    : namesOf(request.options).find((option) => !serves(capable, request, option))

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

export const supportedOptions = (options: OptionSupport | undefined): ReadonlyArray<OptionName> => {
  const probe: Asked = { query: "", options: { freshness: "week", includeDomains: ["example.org"] } }
  return optionNames.filter((name) => serves({ options: options ?? {} }, probe, name))
}

export const anyDomains: DomainSupport = { kind: "native", max: maxDomains }
