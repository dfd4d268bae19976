import type { Target, TargetRules } from "../../domain/search/Target.ts"
import type { Input, LoggedSearch, Query } from "../api/routes.ts"
import { keysOf } from "../keysOf.ts"

/** A test compares them with the API's own table. */
export const targetRules: { readonly [T in Target]: Omit<TargetRules, "highPageIsInvalid"> } = {
  alpha_search: { maxPage: 5, maxNum: 20, safe: true },
  beta_search: { maxPage: 1, maxNum: 20, safe: true },
  gamma_search: { maxPage: 1, maxNum: 10, safe: false },
  delta_search: { maxPage: 1, maxNum: 10, safe: true },
  epsilon_search: { maxPage: 5, maxNum: 20, safe: true },
  zeta_search: { maxPage: 5, maxNum: 10, safe: false }
}

export const targets = Object.keys(targetRules)

export const allTargets = [...targets, "page"]

/** The URL may name an unknown target; the default target's limits apply then. */
export const rulesOf = (target: string) =>
  Object.entries(targetRules).find(([name]) => name === target)?.[1] ?? targetRules.alpha_search

/** A test compares them with the API's own list. */
export const geos: ReadonlyArray<string> = (
  "us in gb ca au de fr sg ae jp " +
  "ad af ag al am ao ar at aw az ba bb bd be bf bg bh bi bj bn bo br bs bw by bz cd cg ch ci cl cm cn co cr cu cv cy " +
  "cz dk do dz ec ee eg es et fi fj fm fo ga gd ge gf gg gh gm gp gq gr gt gu gy hk hn hr ht hu id ie il iq ir is it " +
  "jm jo ke kg kh km kn kr kw ky kz la lb lc lk lr ls lt lu lv ly ma md me mg mk ml mm mn mo mp mq mr mt mu mv mw mx " +
  "my mz na nc ne ng ni nl no np nz om pa pe pf pg ph pk pl pr ps pt pw py qa re ro rs ru rw sa sb sd se si sk sl sn " +
  "so sr st sv sy sz td tg th tj tl tn to tr tt tw tz ua ug uy uz vc ve vg vi vn vu ye za zm zw"
).split(" ")

/** A test compares it with the API's default (R9). */
export const defaultLocale = (geo: string): string => {
  if (geo === "in") return "en-in"
  if (!geos.includes(geo)) return ""
  const { language } = new Intl.Locale(`und-${geo.toUpperCase()}`).maximize()
  return `${language?.length === 2 ? language : "en"}-${geo}`
}

export const maxRows = 50

/** URLs stay shorter than the request headers the server accepts. */
const maxAddressCharacters = 8_000

const defaultTexts = {
  query: "",
  queries: "",
  urls: "",
  format: "markdown",
  links: "false",
  target: "alpha_search",
  geo: "us",
  /** Empty means the default locale of the country. */
  locale: "",
  page: "1",
  num: "10",
  safe: "off",
  freshness: "",
  /** Dates, `YYYY-MM-DD`. */
  after: "",
  before: "",
  include_domains: "",
  exclude_domains: "",
  topic: "web"
}

const modes = ["single", "bulk", "page"] as const

export interface Draft extends Readonly<typeof defaultTexts> {
  readonly mode: (typeof modes)[number]
}

const defaults: Draft = { mode: "single", ...defaultTexts }

const names = keysOf(defaults)

const changed = (draft: Draft, fields: ReadonlyArray<keyof Draft> = names): Readonly<Record<string, string>> =>
  Object.fromEntries(fields.filter((name) => draft[name] !== defaults[name]).map((name) => [name, draft[name]]))

export const readDraft = (query: URLSearchParams): Draft => {
  const given = Object.fromEntries(names.map((name) => [name, query.get(name) || defaults[name]]))
  return { ...defaults, ...given, mode: modes.find((mode) => mode === query.get("mode")) ?? "single" }
}

/** A batch too long for a URL is left out. */
export const draftQuery = (draft: Draft): Query => {
  const query = changed(draft)
  return fitsAddress(draft) ? query : { ...query, queries: undefined, urls: undefined }
}

export const fitsAddress = (draft: Draft): boolean =>
  String(new URLSearchParams(changed(draft))).length <= maxAddressCharacters

const common = ["target", "geo", "locale"] as const

export const optionNames = ["freshness", "after", "before", "include_domains", "exclude_domains", "topic"] as const

export const hasOptions = (draft: Draft): boolean => Object.keys(changed(draft, optionNames)).length > 0

const domainLists = (draft: Draft): Readonly<Record<string, ReadonlyArray<string>>> =>
  Object.fromEntries(
    (["include_domains", "exclude_domains"] as const).flatMap((name) => {
      const domains = draft[name].split(/[\s,]+/).filter((domain) => domain !== "")
      return domains.length === 0 ? [] : [[name, domains]]
    })
  )

const optionsBody = (draft: Draft): object => ({
  ...changed(draft, ["freshness", "after", "before", "topic"]),
  ...domainLists(draft)
})

export const searchQuery = (draft: Draft): Readonly<Record<string, string>> => ({
  query: draft.query,
  ...changed(draft, [...common, "page", "num", "safe"]),
  ...Object.fromEntries(Object.entries(optionsBody(draft)).map(([name, value]) => [name, String(value)]))
})

export const searchInput = (draft: Draft): Readonly<Record<string, unknown>> => {
  const { num, page, ...text } = searchQuery(draft)
  return {
    ...text,
    ...(page === undefined ? {} : { page: Number(page) }),
    ...(num === undefined ? {} : { num: Number(num) }),
    ...domainLists(draft)
  }
}

const linesOf = (text: string): ReadonlyArray<string> =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")

export const rowsOf = (draft: Draft): ReadonlyArray<string> =>
  linesOf(draft.mode === "page" ? draft.urls : draft.queries)

/** A test compares it with the API's own limit. */
export const maxPageRows = 20

export const isManyPages = (draft: Draft): boolean => draft.mode === "page" && rowsOf(draft).length > 1

export const pageQuery = (draft: Draft): Readonly<Record<string, string>> => ({
  url: rowsOf(draft)[0] ?? "",
  ...changed(draft, ["format", "links"])
})

export const pagesBody = (draft: Draft): Input<"POST /v1/pages">["body"] => ({
  urls: rowsOf(draft),
  ...(draft.format === "text" ? { format: "text" } : {}),
  ...(draft.links === "true" ? { links: true } : {})
})

export const bulkBody = (draft: Draft): Input<"POST /v1/bulk">["body"] => ({
  queries: rowsOf(draft),
  ...changed(draft, common),
  ...(draft.num === defaults.num ? {} : { num: Number(draft.num) }),
  ...optionsBody(draft)
})

type Repeated = Pick<LoggedSearch, "geo" | "kind" | "locale" | "num" | "options" | "page" | "query" | "safe" | "target">

export const draftOf = ({ geo, kind, locale, num, options, page, query, safe, target }: Repeated): Draft => ({
  ...defaults,
  ...(kind === "page" ? { mode: "page", urls: query } : { query }),
  target: kind === "page" ? defaults.target : target,
  geo: geo ?? defaults.geo,
  locale: locale === null || locale === defaultLocale(geo ?? defaults.geo) ? "" : locale,
  page: String(page ?? defaults.page),
  num: String(num ?? defaults.num),
  safe: safe ?? defaults.safe,
  ...Object.fromEntries(Object.entries(options ?? {}).map(([name, value]) => [name, String(value)]))
})

/** Resets values that the target does not support, so an earlier choice cannot make the search fail. */
export const withTarget = (draft: Draft, target: string): Draft => {
  const { maxNum, maxPage, safe } = rulesOf(target)
  return {
    ...draft,
    target,
    page: Number(draft.page) > maxPage ? defaults.page : draft.page,
    num: Number(draft.num) > maxNum ? defaults.num : draft.num,
    safe: safe ? draft.safe : defaults.safe
  }
}
