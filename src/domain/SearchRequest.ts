import { Result, Schema, SchemaTransformation } from "effect"
import { InvalidRequest, UnsupportedGeo, UnsupportedParameter } from "./errors.ts"
import {
  CollapsedText,
  carriable,
  digits,
  type RawFields,
  type Reader,
  reader,
  readFields,
  Text,
  wholeNumber
} from "./fields.ts"
import { defaultGeo, defaultLocale, defaultLocales, geos, parseGeo } from "./Geo.ts"
import { Safe, Target, type TargetRules, targetRules, targets } from "./Target.ts"
import { codePointLength, cutCodePoints } from "./text.ts"

/**
 * What a search is, and the only place where input becomes one: `GET /v1/query`, each row of `POST /v1/bulk` and the
 * tools of `/mcp` all come through `parse`.
 */

/** A search as it is run: every default filled in, everything normalised and allowed by its target. */
export interface SearchRequest {
  readonly target: Target
  readonly query: string
  readonly geo: string
  readonly locale: string
  /** 1-based. */
  readonly page: number
  /** Most results wanted. */
  readonly num: number
  readonly safe: Safe
  /** Attribution label; undefined when the caller gave none and the principal's default applies (R11). */
  readonly source: string | undefined
}

export const maxQueryCodePoints = 400
export const maxSourceCodePoints = 32
export const maxPage = 5
export const maxNum = 20
export const defaultNum = 10

/**
 * Each field is described where it is defined. A rule that stands behind a transformation, or that `parse` judges with
 * other fields in view, is told by an annotation too, because documents show the encoded side of a schema only.
 */
export const QueryText = CollapsedText.check(
  carriable,
  Schema.makeFilter((text) => {
    const length = codePointLength(text)
    return (
      (length >= 1 && length <= maxQueryCodePoints) ||
      `must have 1 to ${maxQueryCodePoints} characters after whitespace is collapsed, not ${length}`
    )
  })
).pipe(
  Schema.annotateEncoded({
    minLength: 1,
    maxLength: maxQueryCodePoints,
    description:
      "What to search for. Surrounding whitespace is trimmed and runs of it collapse to one space before the length check."
  })
)

export const GeoText = Text.annotate({ description: "Country (ISO 3166-1 alpha-2), in either letter case." })

export const Locale = Text.annotate({
  pattern: "^[A-Za-z]{2}-[A-Za-z]{2}$",
  description: "Language and region as xx-yy, in either letter case. Derived from geo when absent."
})
  .check(Schema.isPattern(/^[a-z]{2}-[a-z]{2}$/i, { message: "must be a language and a region as in en-us" }))
  .pipe(
    Schema.decode(
      SchemaTransformation.transform({ decode: (text: string) => text.toLowerCase(), encode: (text) => text })
    )
  )

export const Source = Text.annotate({
  description: `Attribution label, stored with the query cut to ${maxSourceCodePoints} characters. Never changes results or cost.`
})
  .check(carriable)
  .pipe(
    Schema.decode(
      SchemaTransformation.transform({
        decode: (text: string) => cutCodePoints(text, maxSourceCodePoints),
        encode: (text) => text
      })
    )
  )

const numWith = (annotations: { readonly default?: number }) =>
  Schema.Number.annotate({
    message: wholeNumber(maxNum),
    ...annotations,
    description: "Most results wanted, subject to what the target serves."
  }).check(
    Schema.isInt({ message: wholeNumber(maxNum) }),
    Schema.isBetween({ minimum: 1, maximum: maxNum }, { message: wholeNumber(maxNum) })
  )

/** `num` in a JSON body: a JSON number (R5). Without a fixed default, because a row of a batch has the body's (R17). */
export const Num = numWith({})

/** `page` as a JSON number. What lies above 5 is refused with the target in view (R7). */
const Page = Schema.Number.annotate({
  message: wholeNumber(maxPage),
  default: 1,
  maximum: maxPage,
  description: "Result page, subject to what the target serves."
}).check(
  Schema.isInt({ message: wholeNumber(maxPage) }),
  Schema.isGreaterThanOrEqualTo(1, { message: wholeNumber(maxPage) })
)

const NumDigits = digits(1, maxNum, wholeNumber(maxNum))

/** What lies above 5 is refused with the target in view (R7). */
const PageDigits = digits(1, Number.POSITIVE_INFINITY, wholeNumber(maxPage))

/** The fields of a search, for those who describe them; `parse` reads them. */
export const SearchFields = Schema.Struct({
  query: QueryText,
  target: Schema.optionalKey(Target.annotate({ default: targets[0], description: "The search target." })),
  geo: Schema.optionalKey(GeoText.annotate({ default: defaultGeo })),
  locale: Schema.optionalKey(Locale),
  page: Schema.optionalKey(Page),
  num: Schema.optionalKey(numWith({ default: defaultNum })),
  safe: Schema.optionalKey(
    Safe.annotate({ default: "off", description: "Safe-search level, subject to what the target serves." })
  ),
  source: Schema.optionalKey(Source)
})

/** The fields of one search as they arrived. */
export type RawSearch = RawFields

/** How the fields that differ between the wire's forms of a search are read. */
export interface SearchForm {
  readonly num: Reader<number>
  readonly page: Reader<number>
  readonly safe: Reader<Safe>
  /** Says why a search that is valid in itself is not served in this form. */
  readonly refuse: (raw: RawSearch) => string | undefined
}

/** `GET /v1/query`: every field is text. */
export const queryStringForm: SearchForm = {
  num: reader(NumDigits),
  page: reader(PageDigits),
  safe: reader(Safe),
  refuse: () => undefined
}

/** The arguments of a tool: one search with every field, as JSON values. */
export const toolForm: SearchForm = {
  num: reader(Num),
  page: reader(Page),
  safe: reader(Safe),
  refuse: () => undefined
}

/**
 * A row of `POST /v1/bulk`: fields are JSON values. Bulk serves page 1 with safe off, and says so instead of running
 * another search than the one asked for (R17).
 */
export const bulkRowForm: SearchForm = {
  num: reader(Num),
  page: () => Result.succeed(1),
  safe: () => Result.succeed("off"),
  refuse: ({ page, safe }) => {
    if (page !== undefined && page !== 1) return "Bulk serves page 1 only; leave page out or use GET /v1/query."
    if (safe !== undefined && safe !== "off") return "Bulk serves safe off only; leave safe out or use GET /v1/query."
    return undefined
  }
}

const readQuery = reader(QueryText)
const readTarget = reader(Target)
const readGeo = reader(GeoText)
const readLocale = reader(Locale)
const readSource = reader(Source)

/** Why a search was refused before it cost anything. */
export type SearchRefused = InvalidRequest | UnsupportedGeo | UnsupportedParameter

/**
 * Turns raw fields into a search, in the two stages of R6: every field on its own with all failures together, then
 * the country, then what the target serves. Fields outside the table are ignored (R4).
 */
export const parse = (raw: RawSearch, form: SearchForm): Result.Result<SearchRequest, SearchRefused> => {
  const { issues, read } = readFields(raw)
  const query = read("query", readQuery, undefined)
  const target = read("target", readTarget, "alpha_search")
  const geoText = read("geo", readGeo, defaultGeo)
  const locale = read("locale", readLocale, undefined)
  const page = read("page", form.page, 1)
  const num = read("num", form.num, defaultNum)
  const safe = read("safe", form.safe, "off")
  const source = read("source", readSource, undefined)
  const rules = targetRules[target]

  if (raw.query === undefined) issues.unshift({ field: "query", message: "is required" })
  // With an unknown target the default's rules stand in: no target serves such a page, so naming it too is right.
  if (page > maxPage && rules.highPageIsInvalid) issues.push({ field: "page", message: wholeNumber(maxPage) })
  if (query === undefined || issues.length > 0) return Result.fail(InvalidRequest.fromIssues(issues))

  const geo = parseGeo(geoText)
  if (geo === undefined) return Result.fail(unsupportedGeo(geoText))

  const refusal = form.refuse(raw) ?? unserved(target, rules, page, num, safe)
  if (refusal !== undefined) return Result.fail(new UnsupportedParameter({ message: refusal }))

  return Result.succeed({
    target,
    query,
    geo,
    locale: locale ?? defaultLocales.get(geo) ?? defaultLocale(geo),
    page,
    num,
    safe,
    source
  })
}

const unsupportedGeo = (text: string): UnsupportedGeo =>
  new UnsupportedGeo({
    message: `geo ${JSON.stringify(cutCodePoints(text, 32))} is not a supported country: send a code such as us or de.`,
    details: geos
  })

/** The values sent are not repeated: a page of 400 digits would be told back as Infinity. */
const unserved = (target: Target, rules: TargetRules, page: number, num: number, safe: Safe): string | undefined => {
  if (page > rules.maxPage) return `${target} accepts page ${rules.maxPage === 1 ? "1 only" : `1 to ${rules.maxPage}`}.`
  if (num > rules.maxNum) return `${target} accepts num 1 to ${rules.maxNum}.`
  if (safe !== "off" && !rules.safe) return `${target} accepts safe off only.`
  return undefined
}
