import { anyDomains, type DomainSupport, type OptionSupport } from "../options/OptionSupport.ts"
import { freshnessDays, freshnessPeriods } from "../options/SearchOptions.ts"
import { parseMoment } from "../requests/fields.ts"
import type { Capabilities, Codes, Paging, UpstreamCall } from "../search/Capabilities.ts"
import { type Safe, safeLevels } from "../search/Target.ts"
import type { RefusalRule } from "./RefusalRule.ts"
import type { RowShape } from "./RowShape.ts"
import { type JsonTemplate, type Placeholder, type Scalar, type Template, templatesIn, type Value } from "./Template.ts"

// Providers that the provider file describes in place of an adapter (R86).

/** Placeholders whose values a description may map. */
export const mapped = ["geo", "language", "locale", "safe", "days", "page", "offset"] as const
export type Mapped = (typeof mapped)[number]

export interface HttpRequest {
  readonly method: "GET" | "POST"
  /** Has placeholders only in its path, so that a search cannot choose who gets the key. */
  readonly url: Template
  readonly query: ReadonlyArray<readonly [string, JsonTemplate]>
  /** Names are lowercase. */
  readonly headers: ReadonlyArray<readonly [string, Template]>
  readonly body: JsonTemplate | undefined
}

export interface HttpDescription {
  readonly request: HttpRequest
  readonly response: RowShape
  /** For searches for news. Undefined if the provider has none. */
  readonly news: { readonly request: HttpRequest; readonly response: RowShape } | undefined
  /** The operators for domains in the query. Undefined if the query has none. */
  readonly operators: DomainSupport | undefined
  readonly pages: { readonly size: number; readonly last: number | undefined }
  /** The text sent for each supported value. A placeholder that is not listed supports every value as it is. */
  readonly values: { readonly [P in Mapped]?: ReadonlyMap<string, Scalar> }
  readonly refusals: ReadonlyArray<RefusalRule>
}

export const templatesOf = ({ body, headers, query, url }: HttpRequest): ReadonlyArray<Template> => [
  url,
  ...query.flatMap(([_, value]) => templatesIn(value)),
  ...headers.map(([_, template]) => template),
  ...(body === undefined ? [] : templatesIn(body))
]

export const placeholdersIn = (request: HttpRequest): ReadonlySet<Placeholder> =>
  new Set(
    templatesOf(request).flatMap((template) => template.flatMap((p) => (p._tag === "placeholder" ? [p.name] : [])))
  )

/** The numbers of days that `{days}` has for the periods of `freshness`. */
export const daysPeriods: ReadonlyArray<number> = freshnessPeriods.map((period) => freshnessDays[period])

const leadingPages = (values: ReadonlyMap<string, Scalar> | undefined, step: number, first: number): number => {
  if (values === undefined) return Number.POSITIVE_INFINITY
  let count = 0
  while (values.has(String(first + count * step))) count += 1
  return count
}

const pagingOf = ({ pages: { last, size }, values }: HttpDescription, used: ReadonlySet<Placeholder>): Paging => {
  if (!used.has("page") && !used.has("offset")) return { kind: "first", maxRows: size }
  const maxPages = Math.min(
    last ?? Number.POSITIVE_INFINITY,
    used.has("page") ? leadingPages(values.page, 1, 1) : Number.POSITIVE_INFINITY,
    used.has("offset") ? leadingPages(values.offset, size, 0) : Number.POSITIVE_INFINITY
  )
  const limited = Number.isFinite(maxPages) ? { maxPages } : {}
  return used.has("num")
    ? { kind: "sized", maxPageSize: size, ...limited }
    : { kind: "fixed", pageSize: size, ...limited }
}

const codesOf = (isUsed: boolean, values: ReadonlyMap<string, Scalar> | undefined): Codes => {
  if (!isUsed) return "none"
  return values === undefined ? "any" : [...values.keys()]
}

const isSafe = (text: string): text is Safe => safeLevels.some((level) => level === text)

/** Without `{safe}`, results are unfiltered unless the description says otherwise. */
const safeOf = (values: ReadonlyMap<string, Scalar> | undefined, isUsed: boolean): ReadonlyArray<Safe> => {
  if (values !== undefined) return [...values.keys()].filter(isSafe)
  return isUsed ? safeLevels : ["off"]
}

const optionsOf = (
  { news, operators, values }: HttpDescription,
  used: ReadonlySet<Placeholder>
): OptionSupport | undefined => {
  const after = used.has("after") || (used.has("days") && values.days === undefined)
  const periods = used.has("days")
    ? freshnessPeriods.filter((period) => values.days?.has(String(freshnessDays[period])) === true)
    : []
  const domains = operators ?? (used.has("domains") ? anyDomains : undefined)
  const options: OptionSupport = {
    ...(after ? { after } : {}),
    ...(used.has("before") ? { before: true } : {}),
    ...(periods.length === 0 ? {} : { freshness: periods }),
    ...(domains === undefined ? {} : { domains }),
    ...(news === undefined ? {} : { news: true })
  }
  return Object.keys(options).length === 0 ? undefined : options
}

export const capabilitiesOf = (description: HttpDescription): Capabilities => {
  const used = placeholdersIn(description.request)
  const { values } = description
  const options = optionsOf(description, used)
  return {
    paging: pagingOf(description, used),
    safe: safeOf(values.safe, used.has("safe")),
    countries: codesOf(used.has("geo") || used.has("GEO"), values.geo),
    languages: codesOf(used.has("language") || used.has("locale"), values.language),
    ...(options === undefined ? {} : { options })
  }
}

const dayMs = 86_400_000

const dayNumber = (date: string): number => (parseMoment(date) ?? 0) / dayMs

const daysIn = ({ options }: UpstreamCall): number | undefined => {
  if (options?.freshness !== undefined) return freshnessDays[options.freshness]
  // The first day counts in full.
  return options?.after === undefined ? undefined : Math.max(1, dayNumber(options.today) - dayNumber(options.after) + 1)
}

const listed = (sites: ReadonlyArray<string> | undefined) =>
  sites === undefined || sites.length === 0 ? undefined : sites

/** The request and the shape of the response of a call. */
export const variantFor = (
  { news, request, response }: HttpDescription,
  { options }: UpstreamCall
): { readonly request: HttpRequest; readonly response: RowShape } =>
  options?.isNews === true && news !== undefined ? news : { request, response }

/** The value of a placeholder in a call. Undefined if the parameter is left out. */
export const valueIn = (
  { values }: HttpDescription,
  call: UpstreamCall,
  name: Exclude<Placeholder, "apiKey">
): Value | undefined => {
  const map = (placeholder: Mapped, value: string | number | undefined): Scalar | undefined => {
    if (value === undefined) return undefined
    const known = values[placeholder]
    return known === undefined ? value : known.get(String(value))
  }
  switch (name) {
    case "query":
      return call.query
    case "num":
      return call.rows
    case "page":
      return map("page", call.page)
    case "offset":
      return map("offset", call.offset)
    case "geo":
      return map("geo", call.country)
    case "GEO": {
      const country = map("geo", call.country)
      return country === undefined ? undefined : String(country).toUpperCase()
    }
    case "language":
      return map("language", call.language)
    case "locale":
      return call.language === undefined ? undefined : map("locale", call.locale)
    case "safe":
      return map("safe", call.safe)
    case "after":
      // Undefined if `{days}` sends the period.
      return values.days?.has(String(daysIn(call))) === true && call.options?.freshness !== undefined
        ? undefined
        : call.options?.after
    case "before":
      return call.options?.before
    case "days":
      return values.days !== undefined && call.options?.freshness === undefined ? undefined : map("days", daysIn(call))
    case "domains":
      return listed(call.options?.includeDomains)
    case "excludedDomains":
      return listed(call.options?.excludeDomains)
  }
}
