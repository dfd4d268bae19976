import { Result, Schema, SchemaTransformation } from "effect"
import { nearestCode } from "./Country.ts"
import { type InvalidRequest, UnsupportedGeo, UnsupportedParameter } from "./errors.ts"
import {
  acrossFields,
  asDigits,
  CollapsedText,
  carriable,
  decoder,
  type FieldsRule,
  Text,
  wholeNumber,
  wholeNumberMessage
} from "./fields.ts"
import { defaultGeo, defaultLocale, defaultLocales, geos, parseGeo } from "./Geo.ts"
import { Safe, Target, type TargetRules, targetRules, targets } from "./Target.ts"
import { codePointLength, cutCodePoints } from "./text.ts"

/**
 * The one definition of a search's fields. `GET /v1/query`, each row of `POST /v1/bulk` and the tools of
 * `/mcp` decode with these schemas; the document and the clients' types come from them too.
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

/** The error of a search that does not run. Nothing is charged for it. */
export type InvalidSearch = InvalidRequest | UnsupportedGeo | UnsupportedParameter

export const maxQueryCodePoints = 400
export const maxSourceCodePoints = 32
export const maxPage = 5
export const maxNum = 20
export const defaultNum = 10

const queryLength = (length: number): string =>
  `must have 1 to ${maxQueryCodePoints} characters after whitespace is collapsed, not ${length}`

/** A rule behind a transformation is repeated as an annotation, because documents show the encoded side of a schema only. */
export const QueryText = CollapsedText.check(
  carriable,
  Schema.isMinLength(1, { message: queryLength(0) }),
  Schema.makeFilter((text) => {
    const length = codePointLength(text)
    return length <= maxQueryCodePoints || queryLength(length)
  })
).pipe(Schema.annotateEncoded({ minLength: 1, maxLength: maxQueryCodePoints }))

/** The query of a search. */
export const Query = QueryText.pipe(
  Schema.annotateEncoded({
    description:
      "What to search for. Surrounding whitespace is trimmed and runs of it collapse to one space before the length check."
  }),
  Schema.annotateKey({ messageMissingKey: "is required" })
)

const Geo = Text.annotate({ enum: geos })

const Locale = Text.annotate({ pattern: "^[A-Za-z]{2}-[A-Za-z]{2}$" })
  .check(
    Schema.isPattern(/^[a-z]{2}-[a-z]{2}$/i, {
      message: "must be a language and a region as in en-us",
      toJsonSchema: () => ({})
    })
  )
  .pipe(
    Schema.decodeTo(
      Schema.String.check(Schema.isPattern(/^[A-Za-z]{2}-[A-Za-z]{2}$/)),
      SchemaTransformation.transform({ decode: (text: string) => text.toLowerCase(), encode: (text) => text })
    )
  )

/** The places where a search's fields stand. They differ in what an absent field means (R17). */
type Place = "search" | "body" | "row"

type Described<A> = { readonly description: string; readonly default?: A }

/**
 * Says what a field is, and what it is when absent. A fixed default stands in a single search only: generated clients
 * send it, and a row's would override the body's.
 */
const described = <const A extends string | number>(place: Place, text: string, fallback?: A): Described<A> => {
  if (place === "search")
    return fallback === undefined ? { description: text } : { description: text, default: fallback }
  if (place === "body") return { description: fallback === undefined ? text : `${text} When absent, ${fallback}.` }
  return { description: `${text} When absent, the body's${fallback === undefined ? "" : `, else ${fallback}`}.` }
}

const sourceText = `Attribution label, stored with the query cut to ${maxSourceCodePoints} characters. Never changes results or cost.`

const sourceIn = (place: Place) =>
  Text.annotate(described(place, sourceText))
    .check(carriable)
    .pipe(
      Schema.decodeTo(
        Schema.String.check(carriable),
        SchemaTransformation.transform({
          decode: (text: string) => cutCodePoints(text, maxSourceCodePoints),
          encode: (text) => text
        })
      )
    )

const localeText = "Language and region as xx-yy, in either letter case."

/** The fields that single searches, batches and their rows have in common. */
export const searchFields = (place: Place) => ({
  target: Schema.optionalKey(
    Target.annotate({ identifier: undefined, ...described(place, "The search target.", targets[0]) })
  ),
  geo: Schema.optionalKey(
    Geo.annotate(described(place, "Country (ISO 3166-1 alpha-2), in either letter case.", defaultGeo))
  ),
  locale: Schema.optionalKey(
    Locale.pipe(
      Schema.annotateEncoded(
        place === "row"
          ? described(place, localeText, "derived from geo")
          : { description: `${localeText} Derived from geo when absent.` }
      )
    )
  ),
  num: Schema.optionalKey(
    wholeNumber(maxNum, described(place, "Most results wanted, subject to what the target serves.", defaultNum))
  ),
  source: Schema.optionalKey(sourceIn(place))
})

/** `page` as a JSON number. One above 5 is judged with the target (R7). */
const Page = Schema.Number.annotate({
  message: wholeNumberMessage(maxPage),
  default: 1,
  maximum: maxPage,
  description: "Result page, subject to what the target serves."
}).check(
  Schema.isInt({ message: wholeNumberMessage(maxPage) }),
  Schema.isGreaterThanOrEqualTo(1, { message: wholeNumberMessage(maxPage) })
)

const common = searchFields("search")

/** The fields of one search as JSON values. */
export const jsonSearchFields = {
  query: Query,
  target: common.target,
  geo: common.geo,
  locale: common.locale,
  page: Schema.optionalKey(Page),
  num: common.num,
  safe: Schema.optionalKey(
    Safe.annotate({
      identifier: undefined,
      ...described("search", "Safe-search level, subject to what the target serves.", "off")
    })
  ),
  source: common.source
}

/** The rules of a target that arrived, decoded or not. With an unknown one the default's rules stand in. */
const rulesOf = (target: unknown): TargetRules => targetRules[targets.find((name) => name === target) ?? targets[0]]

/** Above 5, `page` is a plain failure on some targets (R7). */
const highPage: FieldsRule = ({ page, target }) =>
  (typeof page === "number" || typeof page === "string") && Number(page) > maxPage && rulesOf(target).highPageIsInvalid
    ? { field: "page", message: wholeNumberMessage(maxPage) }
    : undefined

export const pageWithinTarget = acrossFields(highPage)

/** The parameters of `GET /v1/query`: numbers are digits. */
export const SearchParameters = Schema.Struct({
  ...jsonSearchFields,
  page: Schema.optionalKey(asDigits(Page, wholeNumberMessage(maxPage))),
  num: Schema.optionalKey(asDigits(common.num.schema, wholeNumberMessage(maxNum)))
}).check(pageWithinTarget)

/** Decodes the parameters of a query string, in which a parameter that was sent twice is a list. */
export const parseParameters = decoder(SearchParameters)

/** A search whose fields are valid each by itself. */
export type SearchParameters = typeof SearchParameters.Type

/**
 * The second stage of R6: the country, then what the target serves. `unservedForm` says why a search that is valid in
 * itself is not served in the form in which it arrived.
 */
export const toSearch = (
  fields: SearchParameters,
  unservedForm?: string
): Result.Result<SearchRequest, UnsupportedGeo | UnsupportedParameter> => {
  const { query, target = targets[0], page = 1, num = defaultNum, safe = "off" } = fields
  const geo = parseGeo(fields.geo ?? defaultGeo)
  if (geo === undefined) return Result.fail(unsupportedGeo(fields.geo ?? ""))

  const reason = unservedForm ?? unserved(target, page, num, safe)
  if (reason !== undefined) return Result.fail(new UnsupportedParameter({ message: reason }))

  const locale = fields.locale ?? defaultLocales.get(geo) ?? defaultLocale(geo)
  return Result.succeed({ target, query, geo, locale, page, num, safe, source: fields.source })
}

const unsupportedGeo = (text: string): UnsupportedGeo =>
  new UnsupportedGeo({
    message: `geo ${JSON.stringify(cutCodePoints(text, 32))} is not a supported country code.${suggestion(text)}`,
    details: geos
  })

/** The code that was probably meant, such as `gb` for `uk`. The message names no other, because `details` lists them all. */
const suggestion = (text: string): string => {
  const code = nearestCode(text)
  return code === undefined ? "" : ` Did you mean ${code}?`
}

/** The reason for which a target does not serve a search. It does not repeat the values: a page may have 400 digits. */
const unserved = (target: Target, page: number, num: number, safe: Safe): string | undefined => {
  const rules = targetRules[target]
  if (page > rules.maxPage) return `${target} accepts page ${rules.maxPage === 1 ? "1 only" : `1 to ${rules.maxPage}`}.`
  if (num > rules.maxNum) return `${target} accepts num 1 to ${rules.maxNum}.`
  if (safe !== "off" && !rules.safe) return `${target} accepts safe off only.`
  return undefined
}
