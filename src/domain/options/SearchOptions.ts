import { Schema, SchemaTransformation } from "effect"
import type { Issue } from "../errors.ts"
import { described, type Place } from "../requests/described.ts"
import { acrossFields, type FieldsRule, parseMoment, type RawFields, Text } from "../requests/fields.ts"
import { dayOf } from "./published.ts"
import { makeSiteFilter, parseSite, type SiteLists } from "./Sites.ts"

export const freshnessPeriods = ["day", "week", "month", "year"] as const
export type Freshness = (typeof freshnessPeriods)[number]

export const freshnessDays: { readonly [F in Freshness]: number } = { day: 1, week: 7, month: 31, year: 366 }

/** The built-in index has no topics, so documents of the last 31 days count as news. */
const newsDays = 31

export const topics = ["web", "news"] as const
export type Topic = (typeof topics)[number]

export const maxDomains = 20

export interface SearchOptions extends SiteLists {
  readonly freshness?: Freshness | undefined
  /** Dates in UTC, `YYYY-MM-DD`, both inclusive. */
  readonly after?: string | undefined
  readonly before?: string | undefined
  /** Absent for `web`, the default. */
  readonly topic?: "news" | undefined
}

export const optionNames = ["freshness", "after", "before", "include_domains", "exclude_domains", "topic"] as const
export type OptionName = (typeof optionNames)[number]

const dateMessage = "must be a date as in 2026-01-31"

const isDate = (text: string): boolean => /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text) && parseMoment(text) !== undefined

const siteMessage = "must be a domain as in example.org, with an optional path as in docs.example.org/guide"

/** Annotates before the check, because annotations of a checked schema replace those of its check. */
export const dateText = (annotations: { readonly description: string }) =>
  Text.annotate({ message: dateMessage, pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", ...annotations }).check(
    Schema.makeFilter((text: string) => isDate(text) || dateMessage)
  )

const Site = Text.check(Schema.makeFilter((text: string) => parseSite(text) !== undefined || siteMessage))

const listMessage = `must be a list of at most ${maxDomains} domains`

const sitesOf = ({ description }: { readonly description: string }) =>
  Schema.Array(Site)
    .annotate({ message: listMessage, description })
    .check(Schema.isMaxLength(maxDomains, { message: listMessage }))

const splitList = (text: string): ReadonlyArray<string> => text.split(",")

const SitesText = Text.pipe(
  Schema.decodeTo(
    Schema.Array(Schema.String)
      .check(Schema.isMaxLength(maxDomains, { message: `must have at most ${maxDomains} domains` }))
      .check(
        Schema.makeFilter(
          (sites) =>
            sites.every((site) => parseSite(site) !== undefined) || `${siteMessage}; separate several by commas`
        )
      ),
    SchemaTransformation.transform({ decode: splitList, encode: (sites: ReadonlyArray<string>) => sites.join(",") })
  )
)

const texts = {
  freshness: "Only results published or found in the last 24 hours, 7, 31 or 366 days.",
  after: "Only results published on this date or later, in UTC.",
  before: "Only results published on this date or earlier, in UTC.",
  include_domains: `Only results from these domains, their subdomains and, with a path, below it. At most ${maxDomains}.`,
  exclude_domains: `No results from these domains and their subdomains. At most ${maxDomains}.`,
  topic: "Whether to search the web or the news."
}

export const optionFields = (place: Place) => ({
  freshness: Schema.optionalKey(
    Schema.Literals(freshnessPeriods).annotate({
      message: `must be one of ${freshnessPeriods.join(", ")}`,
      ...described(place, texts.freshness)
    })
  ),
  after: Schema.optionalKey(dateText(described(place, texts.after))),
  before: Schema.optionalKey(dateText(described(place, texts.before))),
  include_domains: Schema.optionalKey(sitesOf(described(place, texts.include_domains))),
  exclude_domains: Schema.optionalKey(sitesOf(described(place, texts.exclude_domains))),
  topic: Schema.optionalKey(
    Schema.Literals(topics).annotate({
      message: `must be one of ${topics.join(", ")}`,
      ...described(place, texts.topic, "web")
    })
  )
})

const commaSeparated = "Separate several by commas."

export const optionParameters = {
  ...optionFields("search"),
  include_domains: Schema.optionalKey(
    SitesText.pipe(Schema.annotateEncoded({ description: `${texts.include_domains} ${commaSeparated}` }))
  ),
  exclude_domains: Schema.optionalKey(
    SitesText.pipe(Schema.annotateEncoded({ description: `${texts.exclude_domains} ${commaSeparated}` }))
  )
}

const sitesIn = (value: unknown): ReadonlyArray<string> => {
  const entries: ReadonlyArray<unknown> =
    typeof value === "string" ? splitList(value) : Array.isArray(value) ? value : []
  return entries.slice(0, maxDomains).flatMap((entry) => (typeof entry === "string" ? (parseSite(entry) ?? []) : []))
}

const freshnessAlone: FieldsRule = ({ after, before, freshness }) =>
  freshness !== undefined && (after !== undefined || before !== undefined)
    ? { field: "freshness", message: "cannot be combined with after or before" }
    : undefined

const datesInOrder: FieldsRule = ({ after, before }) =>
  typeof after === "string" && typeof before === "string" && isDate(after) && isDate(before) && after > before
    ? { field: "after", message: "must not be later than before" }
    : undefined

const listsApart: FieldsRule = ({ exclude_domains, include_domains }) => {
  if (exclude_domains === undefined || include_domains === undefined) return undefined
  const included = new Set(sitesIn(include_domains))
  const both = sitesIn(exclude_domains).find((site) => included.has(site))
  return both === undefined
    ? undefined
    : { field: "exclude_domains", message: `must not contain ${both}, which include_domains contains too` }
}

const rules = [freshnessAlone, datesInOrder, listsApart]

export const optionRules = [acrossFields(freshnessAlone), acrossFields(datesInOrder), acrossFields(listsApart)] as const

export const optionIssues = (fields: RawFields): ReadonlyArray<Issue> => rules.flatMap((rule) => rule(fields) ?? [])

/** Undefined options are absent. */
export interface OptionFields {
  readonly freshness?: Freshness | undefined
  readonly after?: string | undefined
  readonly before?: string | undefined
  readonly include_domains?: ReadonlyArray<string> | undefined
  readonly exclude_domains?: ReadonlyArray<string> | undefined
  readonly topic?: Topic | undefined
}

/** Sorts and removes duplicates, so that equal searches have equal cache keys. */
const canonical = (sites: ReadonlyArray<string> = []): ReadonlyArray<string> | undefined => {
  const parsed = [...new Set(sites.flatMap((site) => parseSite(site) ?? []))].sort()
  return parsed.length === 0 ? undefined : parsed
}

export const LoggedOptions = Schema.Struct({
  freshness: Schema.optionalKey(Schema.Literals(freshnessPeriods)),
  after: Schema.optionalKey(Schema.String),
  before: Schema.optionalKey(Schema.String),
  include_domains: Schema.optionalKey(Schema.Array(Schema.String)),
  exclude_domains: Schema.optionalKey(Schema.Array(Schema.String)),
  topic: Schema.optionalKey(Schema.Literals(topics))
}).annotate({ identifier: "LoggedOptions", description: "The search options that were used" })

/** Undefined without any option, so that cache and idempotency keys of plain searches stay the same. */
export const toOptions = (fields: OptionFields): SearchOptions | undefined => {
  const includeDomains = canonical(fields.include_domains)
  const excludeDomains = canonical(fields.exclude_domains)
  const options: SearchOptions = {
    ...(fields.freshness === undefined ? {} : { freshness: fields.freshness }),
    ...(fields.after === undefined ? {} : { after: fields.after }),
    ...(fields.before === undefined ? {} : { before: fields.before }),
    ...(includeDomains === undefined ? {} : { includeDomains }),
    ...(excludeDomains === undefined ? {} : { excludeDomains }),
    ...(fields.topic === "news" ? { topic: "news" as const } : {})
  }
  return Object.keys(options).length === 0 ? undefined : options
}

export const toFields = (options: SearchOptions): typeof LoggedOptions.Type => ({
  ...(options.freshness === undefined ? {} : { freshness: options.freshness }),
  ...(options.after === undefined ? {} : { after: options.after }),
  ...(options.before === undefined ? {} : { before: options.before }),
  ...(options.includeDomains === undefined ? {} : { include_domains: options.includeDomains }),
  ...(options.excludeDomains === undefined ? {} : { exclude_domains: options.excludeDomains }),
  ...(options.topic === undefined ? {} : { topic: options.topic })
})

export const namesOf = (options: SearchOptions): ReadonlyArray<OptionName> => {
  const fields = toFields(options)
  return optionNames.filter((name) => fields[name] !== undefined)
}

const dayMs = 86_400_000

export const datesOf = (
  { after, before, freshness }: SearchOptions,
  nowMs: number
): { readonly after?: string; readonly before?: string } => {
  if (freshness !== undefined) return { after: dayOf(nowMs - freshnessDays[freshness] * dayMs) }
  return { ...(after === undefined ? {} : { after }), ...(before === undefined ? {} : { before }) }
}

const millisOf = (published: string): number | undefined => parseMoment(published)

/** A result without a date passes, because the engine has filtered it. */
export const isInDates = ({ after, before }: SearchOptions, published: string | undefined): boolean => {
  if (published === undefined) return true
  const day = published.slice(0, 10)
  return (after === undefined || day >= after) && (before === undefined || day <= before)
}

/** Both ends are inclusive. */
export interface Span {
  readonly fromMs: number
  readonly toMs: number
}

export const spanOf = (options: SearchOptions, nowMs: number): Span | undefined => {
  const { after, before, freshness, topic } = options
  const froms: Array<number> = []
  let toMs = Number.MAX_SAFE_INTEGER
  if (freshness !== undefined) froms.push(nowMs - freshnessDays[freshness] * dayMs)
  if (topic === "news") froms.push(nowMs - newsDays * dayMs)
  if (froms.length > 0) toMs = nowMs
  if (after !== undefined) froms.push(millisOf(after) ?? 0)
  if (before !== undefined) toMs = Math.min(toMs, (millisOf(before) ?? 0) + dayMs - 1)
  return froms.length === 0 && before === undefined ? undefined : { fromMs: Math.max(0, ...froms), toMs }
}

export const isInSpan = ({ fromMs, toMs }: Span, published: string): boolean => {
  const start = millisOf(published)
  if (start === undefined) return false
  const end = published.length === 10 ? start + dayMs - 1 : start
  return start <= toMs && end >= fromMs
}

export const makeAdmits = (
  options: SearchOptions | undefined
): ((url: URL, row: { readonly published?: string | undefined }) => boolean) | undefined => {
  if (options === undefined) return undefined
  const isOfSites = makeSiteFilter(options) ?? (() => true)
  return (url, { published }) => isOfSites(url) && isInDates(options, published)
}
