import { geos } from "../../src/domain/search/Geo.ts"
import { targetRules } from "../../src/domain/search/Target.ts"

export interface Search {
  readonly target: keyof typeof targetRules
  readonly query: string
  readonly geo: string
  readonly locale: string
  readonly page: number
  readonly num: number
  readonly safe: string
  readonly source: string
}

/** The body of an error response, without the request id. */
export interface Refused {
  readonly error: string
  readonly message: string
  readonly issues?: ReadonlyArray<{ readonly field: string; readonly message: string }>
  readonly details?: ReadonlyArray<string>
}

const supportedGeos = new Set(geos)
const locales = new Map<string, string>()

const localeOf = (geo: string): string => {
  const known = locales.get(geo)
  if (known !== undefined) return known
  const language = geo === "in" ? "en" : (new Intl.Locale(`und-${geo.toUpperCase()}`).maximize().language ?? "en")
  const locale = `${language.length === 2 ? language : "en"}-${geo}`
  locales.set(geo, locale)
  return locale
}

const isTarget = (value: unknown): value is Search["target"] =>
  typeof value === "string" && Object.hasOwn(targetRules, value)

/** Digits in a query string, a number in a JSON body; NaN for anything else. */
const whole = (value: unknown): number =>
  typeof value === "number" ? value : typeof value === "string" && /^[0-9]+$/.test(value) ? Number(value) : Number.NaN

/** Reports all field errors together, then the country, then the target's limits, in the contract's order. */
export const parseSearch = (raw: Readonly<Record<string, unknown>>): Search | Refused => {
  const issues: Array<{ readonly field: string; readonly message: string }> = []
  const { geo = "us", locale, num = 10, page = 1, safe = "off", source = "api", target = "alpha_search" } = raw

  const query = typeof raw.query === "string" ? raw.query.replace(/[\p{White_Space}\u200B\uFEFF]+/gu, " ").trim() : ""
  const length = query.length <= 400 ? query.length : [...query].length
  if (length < 1 || length > 400 || query.includes("\0") || !query.isWellFormed()) {
    issues.push({ field: "query", message: "must have 1 to 400 characters" })
  }
  if (!isTarget(target)) issues.push({ field: "target", message: "must be one of the six targets" })
  if (typeof geo !== "string") issues.push({ field: "geo", message: "must be a string" })
  if (locale !== undefined && (typeof locale !== "string" || !/^[a-z]{2}-[a-z]{2}$/i.test(locale))) {
    issues.push({ field: "locale", message: "must be a language and a region as in en-us" })
  }
  const pageNumber = whole(page)
  if (!(Number.isInteger(pageNumber) && pageNumber >= 1 && pageNumber <= 5)) {
    issues.push({ field: "page", message: "must be a whole number from 1 to 5" })
  }
  const count = whole(num)
  if (!(Number.isInteger(count) && count >= 1 && count <= 20)) {
    issues.push({ field: "num", message: "must be a whole number from 1 to 20" })
  }
  if (safe !== "off" && safe !== "moderate" && safe !== "strict") {
    issues.push({ field: "safe", message: "must be one of off, moderate, strict" })
  }
  if (typeof source !== "string") issues.push({ field: "source", message: "must be a string" })
  if (issues.length > 0 || !isTarget(target) || typeof geo !== "string") {
    const fields = issues.map(({ field, message }) => `${field} ${message}`)
    return { error: "invalid_request", message: `The request is not valid: ${fields.join("; ")}`, issues }
  }

  const country = geo.toLowerCase()
  if (!supportedGeos.has(country)) {
    return { error: "unsupported_geo", message: "geo is not a supported country.", details: geos }
  }
  const rules = targetRules[target]
  if (pageNumber > rules.maxPage || count > rules.maxNum || (safe !== "off" && !rules.safe)) {
    return { error: "unsupported_parameter", message: `${target} does not serve this page, num or safe.` }
  }
  return {
    target,
    query,
    geo: country,
    locale: typeof locale === "string" ? locale.toLowerCase() : localeOf(country),
    page: pageNumber,
    num: count,
    safe: String(safe),
    source: String(source).slice(0, 32)
  }
}
