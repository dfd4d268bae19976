import { Result, Schema, SchemaTransformation } from "effect"
import { type InvalidRequest, UnsupportedGeo, UnsupportedParameter } from "../errors.ts"
import {
  type OptionFields,
  optionFields,
  optionParameters,
  optionRules,
  type SearchOptions,
  toOptions
} from "../options/SearchOptions.ts"
import { described, type Place } from "../requests/described.ts"
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
} from "../requests/fields.ts"
import { codePointLength, cutCodePoints } from "../text.ts"
import { nearestCode } from "./Country.ts"
import { defaultGeo, defaultLocale, defaultLocales, geos, parseGeo } from "./Geo.ts"
import { Safe, Target, type TargetRules, targetRules, targets } from "./Target.ts"

// The one definition of a search's fields, for `GET /v1/query`, `POST /v1/bulk`, `/mcp` and the OpenAPI document.

export interface SearchRequest {
  readonly target: Target
  readonly query: string
  readonly geo: string
  readonly locale: string
  readonly page: number
  readonly num: number
  readonly safe: Safe
  /** Attribution label; undefined if the principal's default applies (R11). */
  readonly source: string | undefined
  /** Absent if no option is set, so that cache and idempotency keys of plain searches stay the same (R62). */
  readonly options?: SearchOptions
}

export type InvalidSearch = InvalidRequest | UnsupportedGeo | UnsupportedParameter

export const maxQueryCodePoints = 400
export const maxSourceCodePoints = 32
export const maxPage = 5
export const maxNum = 20
export const defaultNum = 10

const queryLength = (length: number): string =>
  `must have 1 to ${maxQueryCodePoints} characters after whitespace is collapsed, not ${length}`

/** Repeats the limits, because the OpenAPI document shows only the encoded side of a transformation. */
export const QueryText = CollapsedText.check(
  carriable,
  Schema.isMinLength(1, { message: queryLength(0) }),
  Schema.makeFilter((text) => {
    const length = codePointLength(text)
    return length <= maxQueryCodePoints || queryLength(length)
  })
).pipe(Schema.annotateEncoded({ minLength: 1, maxLength: maxQueryCodePoints }))

export const Query = QueryText.pipe(
  Schema.annotateEncoded({
    description:
      "The search query. Leading and trailing whitespace is removed and other whitespace collapses to single spaces before the length check."
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

const sourceText = `Attribution label, stored with the query cut to ${maxSourceCodePoints} characters. It never changes results or cost.`

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
    wholeNumber(maxNum, described(place, "Maximum number of results, within the limits of the target.", defaultNum))
  ),
  source: Schema.optionalKey(sourceIn(place)),
  ...optionFields(place)
})

const Page = Schema.Number.annotate({
  message: wholeNumberMessage(maxPage),
  default: 1,
  maximum: maxPage,
  description: "Result page, within the limits of the target."
}).check(
  Schema.isInt({ message: wholeNumberMessage(maxPage) }),
  Schema.isGreaterThanOrEqualTo(1, { message: wholeNumberMessage(maxPage) })
)

const common = searchFields("search")

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
      ...described("search", "Safe-search level, if the target supports it.", "off")
    })
  ),
  source: common.source,
  ...optionFields("search")
}

/** The rules of a target, decoded or not; those of the default target if it is unknown. */
const rulesOf = (target: unknown): TargetRules => targetRules[targets.find((name) => name === target) ?? targets[0]]

/** Above 5, `page` is `invalid_request` on some targets and `unsupported_parameter` on others (R7). */
const highPage: FieldsRule = ({ page, target }) =>
  (typeof page === "number" || typeof page === "string") && Number(page) > maxPage && rulesOf(target).highPageIsInvalid
    ? { field: "page", message: wholeNumberMessage(maxPage) }
    : undefined

export const searchRules = [acrossFields(highPage), ...optionRules] as const

export const SearchParameters = Schema.Struct({
  ...jsonSearchFields,
  page: Schema.optionalKey(asDigits(Page, wholeNumberMessage(maxPage))),
  num: Schema.optionalKey(asDigits(common.num.schema, wholeNumberMessage(maxNum))),
  ...optionParameters
}).check(...searchRules)

export const parseParameters = decoder(SearchParameters)

export type SearchParameters = typeof SearchParameters.Type

/** Second validation stage: country, then target (R6). `unservedForm`: why this kind of request does not support it. */
export const toSearch = (
  fields: Omit<SearchParameters, keyof OptionFields> & OptionFields,
  unservedForm?: string
): Result.Result<SearchRequest, UnsupportedGeo | UnsupportedParameter> => {
  const { query, target = targets[0], page = 1, num = defaultNum, safe = "off" } = fields
  const geo = parseGeo(fields.geo ?? defaultGeo)
  if (geo === undefined) return Result.fail(unsupportedGeo(fields.geo ?? ""))

  const reason = unservedForm ?? unserved(target, page, num, safe)
  if (reason !== undefined) return Result.fail(new UnsupportedParameter({ message: reason }))

  const locale = fields.locale ?? defaultLocales.get(geo) ?? defaultLocale(geo)
  const options = toOptions(fields)
  const request = { target, query, geo, locale, page, num, safe, source: fields.source }
  return Result.succeed(options === undefined ? request : { ...request, options })
}

const unsupportedGeo = (text: string): UnsupportedGeo =>
  new UnsupportedGeo({
    message: `geo ${JSON.stringify(cutCodePoints(text, 32))} is not a supported country code.${suggestion(text)}`,
    details: geos
  })

const suggestion = (text: string): string => {
  const code = nearestCode(text)
  return code === undefined ? "" : ` Did you mean ${code}?`
}

/** Does not repeat the values, because `page` may have 400 digits. */
const unserved = (target: Target, page: number, num: number, safe: Safe): string | undefined => {
  const rules = targetRules[target]
  if (page > rules.maxPage) return `${target} accepts only page ${rules.maxPage === 1 ? "1" : `1 to ${rules.maxPage}`}.`
  if (num > rules.maxNum) return `${target} accepts only num 1 to ${rules.maxNum}.`
  if (safe !== "off" && !rules.safe) return `${target} accepts only safe off.`
  return undefined
}
