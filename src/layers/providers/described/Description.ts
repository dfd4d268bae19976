import { Schema } from "effect"
import type { DomainSupport } from "../../../domain/options/OptionSupport.ts"
import {
  daysPeriods,
  type HttpDescription,
  type Mapped,
  mapped,
  placeholdersIn
} from "../../../domain/providers/HttpDescription.ts"
import { parsePath } from "../../../domain/providers/JsonPath.ts"
import { type RefusalReason, refusalReasons } from "../../../domain/providers/Refusal.ts"
import type { RefusalRule } from "../../../domain/providers/RefusalRule.ts"
import { type Field, parseSource, type RowShape } from "../../../domain/providers/RowShape.ts"
import type { Placeholder, Scalar } from "../../../domain/providers/Template.ts"
import { parseMoment } from "../../../domain/requests/fields.ts"
import { geos } from "../../../domain/search/Geo.ts"
import { safeLevels } from "../../../domain/search/Target.ts"
import * as ApiKeys from "../ApiKeys.ts"
import * as Gate from "../Gate.ts"
import { address } from "../ProviderType.ts"
import { type Report, type RequestFields, readRequest } from "./request.ts"

const maxPageSize = 100
const maxPages = 100
const maxFieldPaths = 8
const maxRules = 50

const listed = (names: Iterable<string>): string => [...names].join(", ")

/** An object that accepts only these members, and says so. */
const object = <F extends Schema.Struct.Fields>(fields: F) => {
  const members = listed(Object.keys(fields))
  return Schema.Struct(fields).annotate({
    message: `must be an object with ${members}`,
    messageUnexpectedKey: `is not allowed here; allowed are ${members}`
  })
}

const optional = Schema.optionalKey

const text = (message: string, isValid: (text: string) => boolean) =>
  Schema.String.annotate({ message }).check(Schema.makeFilter((text: string) => isValid(text) || message))

const wholeNumber = (minimum: number, maximum: number) => {
  const message = `must be a whole number from ${minimum} to ${maximum}`
  return Schema.Number.annotate({ message }).check(
    Schema.isInt({ message }),
    Schema.isBetween({ minimum, maximum }, { message })
  )
}

const parameterRule = "must be a string, a number, true or false"
const Parameter = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]).annotate({ message: parameterRule })

const Request = object({
  method: Schema.Literals(["GET", "POST"]).annotate({ message: "must be GET or POST" }),
  url: Schema.String.annotate({ message: "must be a string" }),
  query: optional(
    Schema.Record(Schema.String, Parameter).annotate({ message: "must be an object of parameter names and values" })
  ),
  headers: optional(
    Schema.Record(Schema.String, Schema.String.annotate({ message: "must be a string" })).annotate({
      message: "must be an object of header names and values"
    })
  ),
  body: optional(Schema.Unknown)
})

const pathRule = 'must be a dotted path as in "results.0.items"'
const Flag = Schema.Boolean.annotate({ message: "must be true or false" })

const Path = text(pathRule, (path) => parsePath(path) !== undefined)

const fieldOf = (allowsAddress: boolean) => {
  const one = allowsAddress
    ? 'must be a dotted path as in "link", or an address with paths in braces as in "https://example.org/page/{id}"'
    : pathRule
  const message = `${one}, or a list of up to ${maxFieldPaths} of them`
  const Source = text(one, (source) => parseSource(source, allowsAddress) !== undefined)
  return Schema.Union([
    Source,
    Schema.Array(Source).check(Schema.isBetweenLength(1, maxFieldPaths, { message }))
  ]).annotate({ message })
}

const responseFields = {
  rows: Path,
  url: fieldOf(true),
  title: optional(fieldOf(false)),
  snippet: optional(fieldOf(false)),
  published: optional(fieldOf(false)),
  dates: optional(Schema.Literals(["iso", "english"]).annotate({ message: "must be iso or english" })),
  html: optional(Flag)
}

const Response = object(responseFields)

/** Replaces members of the request and the response. Null leaves a parameter out. */
const News = object({
  request: optional(
    object({
      url: optional(Schema.String.annotate({ message: "must be a string" })),
      query: optional(
        Schema.Record(Schema.String, Schema.NullOr(Parameter)).annotate({
          message: "must be an object of parameter names and values"
        })
      ),
      body: optional(
        Schema.Record(Schema.String, Schema.Unknown).annotate({ message: "must be an object of members to replace" })
      )
    })
  ),
  response: optional(object({ ...responseFields, rows: optional(Path), url: optional(fieldOf(true)) }))
})

const Operators = object({
  or: optional(text("must be one word, such as OR", (word) => /^\S{1,10}$/.test(word))),
  exclude: optional(Flag)
})

const keyRules: { readonly [P in Mapped]: { readonly allowed: string; readonly isKey: (key: string) => boolean } } = {
  geo: { allowed: "countries in lower case, such as us", isKey: (key) => geos.includes(key) },
  language: { allowed: "languages of two letters, such as en", isKey: (key) => /^[a-z]{2}$/.test(key) },
  locale: { allowed: "locales in lower case, such as en-us", isKey: (key) => /^[a-z]{2}-[a-z]{2}$/.test(key) },
  safe: { allowed: listed(safeLevels), isKey: (key) => safeLevels.some((level) => level === key) },
  days: { allowed: listed(daysPeriods.map(String)), isKey: (key) => daysPeriods.some((days) => String(days) === key) },
  page: { allowed: "page numbers from 1", isKey: (key) => /^[1-9]\d{0,3}$/.test(key) },
  offset: { allowed: "offsets from 0", isKey: (key) => /^(0|[1-9]\d{0,5})$/.test(key) }
}

const valuesOf = (placeholder: Mapped) => {
  const { allowed, isKey } = keyRules[placeholder]
  const message = `must be an object or a list of ${allowed}`
  return optional(
    Schema.Union([Schema.Array(Schema.Union([Schema.String, Schema.Number])), Schema.Record(Schema.String, Parameter)])
      .annotate({ message })
      .check(
        Schema.makeFilter((values) => {
          const keys = Array.isArray(values) ? values.map(String) : Object.keys(values)
          return (keys.length > 0 && keys.every(isKey)) || message
        })
      )
  )
}

const Values = object({
  geo: valuesOf("geo"),
  language: valuesOf("language"),
  locale: valuesOf("locale"),
  safe: valuesOf("safe"),
  days: valuesOf("days"),
  page: valuesOf("page"),
  offset: valuesOf("offset")
})

/** `unserved` and `busy` are Quarry's own reasons: nothing was sent. */
const isUpstreamReason = (reason: string): reason is RefusalReason =>
  reason !== "unserved" && reason !== "busy" && refusalReasons.some((known) => known === reason)
const reasons = [...refusalReasons.filter(isUpstreamReason), "nothing"] as const

const Rule = object({
  status: wholeNumber(200, 599),
  at: optional(Path),
  is: optional(Parameter),
  reason: Schema.Literals(reasons).annotate({ message: `must be one of ${listed(reasons)}` })
}).check(
  Schema.makeFilter(({ at, is, status }: { readonly at?: string; readonly is?: Scalar; readonly status: number }) => {
    if (at !== undefined && is === undefined) return { path: ["is"], issue: "is missing: at needs it" }
    if (at === undefined && is !== undefined) return { path: ["at"], issue: "is missing: is needs it" }
    return at !== undefined || status >= 300 || { path: ["at"], issue: "is missing: a status below 300 needs it" }
  })
)

const dateRule = "must be a date as in 2026-01-31"
/** The documentation that the description follows, for the people who maintain it. */
const Source = object({
  url: address.url,
  /** The day on which it was read; absent if nobody has compared the two yet. */
  date: optional(text(dateRule, (date) => /^\d{4}-\d{2}-\d{2}$/.test(date) && parseMoment(date) !== undefined))
})

export const Options = object({
  source: optional(Source),
  request: Request,
  response: Response,
  news: optional(News),
  operators: optional(Operators),
  pages: optional(object({ size: wholeNumber(1, maxPageSize), last: optional(wholeNumber(1, maxPages)) })),
  values: optional(Values),
  refusals: optional(
    Schema.Array(Rule)
      .annotate({ message: `must be a list of up to ${maxRules} refusals` })
      .check(Schema.isMaxLength(maxRules, { message: `must be a list of up to ${maxRules} refusals` }))
  ),
  insecure: address.insecure,
  ...ApiKeys.options,
  ...Gate.options
}).check(ApiKeys.oneWay(false))

type Fields = typeof Options.Type

const fieldIn = (source: string | ReadonlyArray<string> | undefined, allowsAddress: boolean): Field =>
  (source === undefined ? [] : typeof source === "string" ? [source] : source).flatMap(
    (text) => parseSource(text, allowsAddress) ?? []
  )

const shapeOf = ({ dates, html = false, published, rows, snippet, title, url }: Fields["response"]): RowShape => ({
  rows: parsePath(rows) ?? [],
  url: fieldIn(url, true),
  title: fieldIn(title, false),
  snippet: fieldIn(snippet, false),
  published: fieldIn(published, false),
  isHtml: html,
  hasEnglishDates: dates === "english"
})

const valueMap = (values: ReadonlyArray<string | number> | Readonly<Record<string, Scalar>>) =>
  new Map<string, Scalar>(
    Array.isArray(values) ? values.map((value) => [String(value), value]) : Object.entries(values)
  )

const ruleOf = ({ at, is, reason, status }: (typeof Rule)["Type"]): RefusalRule => ({
  status,
  at: at === undefined ? undefined : parsePath(at),
  is: is === undefined ? undefined : String(is),
  reason
})

const usesOf: { readonly [P in Mapped]: ReadonlyArray<Placeholder> } = {
  geo: ["geo", "GEO"],
  language: ["language", "locale"],
  locale: ["locale"],
  safe: ["safe"],
  days: ["days"],
  page: ["page"],
  offset: ["offset"]
}

const withChanges = <A>(members: Readonly<Record<string, A>>, changes: Readonly<Record<string, A | null>>) =>
  Object.fromEntries(
    Object.entries({ ...members, ...changes }).flatMap(([name, value]) => (value === null ? [] : [[name, value]]))
  )

const newsRequest = (request: Fields["request"], { request: changes = {} }: typeof News.Type): RequestFields => ({
  ...request,
  ...(changes.url === undefined ? {} : { url: changes.url }),
  ...(changes.query === undefined ? {} : { query: withChanges(request.query ?? {}, changes.query) }),
  ...(changes.body === undefined ? {} : { body: withChanges(Object(request.body ?? {}), changes.body) })
})

const operatorsOf = ({ exclude, or }: typeof Operators.Type): DomainSupport => ({
  kind: "operators",
  ...(or === undefined ? {} : { or }),
  ...(exclude === undefined ? {} : { canExclude: exclude })
})

/** Members that contradict each other. */
const reportContradictions = (description: HttpDescription, fields: Fields, hasKey: boolean, report: Report): void => {
  const used = placeholdersIn(description.request)
  if (!used.has("query")) report("request", "must contain {query}")
  if (description.news !== undefined && !placeholdersIn(description.news.request).has("query"))
    report("news.request", "must contain {query}")
  if (used.has("excludedDomains") && !used.has("domains"))
    report("request", "must contain {domains}, because it contains {excludedDomains}")
  if (used.has("domains") && fields.operators !== undefined)
    report("operators", "cannot be combined with {domains} in the request: keep only one of them")
  if (used.has("apiKey") && !hasKey) report("apiKey", "is missing: the request contains {apiKey}")
  if (!used.has("apiKey") && hasKey) report("request", "must contain {apiKey}, because the provider has an API key")
  for (const placeholder of mapped) {
    const values = fields.values?.[placeholder]
    // A list for `safe` describes the results, even if the request has no such parameter.
    if (values === undefined || (placeholder === "safe" && Array.isArray(values))) continue
    if (!usesOf[placeholder].some((name) => used.has(name)))
      report(`values.${placeholder}`, `maps {${placeholder}}, which the request does not contain`)
  }
  const isPaged = used.has("page") || used.has("offset")
  if (!isPaged && (fields.pages?.last ?? 1) > 1)
    report("pages.last", "must be 1, because the request contains neither {page} nor {offset}")
  if (description.values.page?.has("1") === false) report("values.page", "must map page 1")
  if (description.values.offset?.has("0") === false) report("values.offset", "must map offset 0")
  if (description.values.offset !== undefined && used.has("num"))
    report("values.offset", "needs pages of one size: write pages.size in place of {num}")
}

const defaultPageSize = 10

/** Reads a description whose members are valid one by one. `report` receives what is wrong with them together. */
export const read = (fields: Fields, variables: ReadonlyMap<string, string>, report: Report): HttpDescription => {
  const { insecure, news, operators, pages, refusals = [], request, response, values = {} } = fields
  let isRequestValid = true
  const reportRequest: Report = (path, problem) => {
    isRequestValid = false
    report(path, problem)
  }
  const context = { insecure, variables, report: reportRequest }
  const main = readRequest("request", request, context)
  const description: HttpDescription = {
    request: main,
    response: shapeOf(response),
    news: news && {
      request: isRequestValid ? readRequest("news.request", newsRequest(request, news), context) : main,
      response: shapeOf({ ...response, ...news.response })
    },
    operators: operators && operatorsOf(operators),
    pages: { size: pages?.size ?? defaultPageSize, last: pages?.last },
    values: Object.fromEntries(Object.entries(values).map(([name, value]) => [name, valueMap(value)])),
    refusals: refusals.map(ruleOf)
  }
  // Otherwise one mistake in the request would be reported again as a missing placeholder.
  if (isRequestValid) reportContradictions(description, fields, ApiKeys.keysOf(fields).length > 0, report)
  return description
}
