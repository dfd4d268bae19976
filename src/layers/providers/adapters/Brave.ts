import { Redacted } from "effect"
import type { CallOptions } from "../../../domain/options/OptionSupport.ts"
import { freshnessPeriods } from "../../../domain/options/SearchOptions.ts"
import * as SearchApi from "../SearchApi.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

const countries =
  "ar au at be br ca cl dk fi fr de gr hk in id it jp kr my mx nl nz no cn pl pt ph ru sa za es se ch tw tr gb us".split(
    " "
  )

const languages = (
  "ar eu bn bg ca zh hr cs da nl en et fi fr gl de el gu he hi hu is it ja kn ko lv lt ms ml mr nb no pl pt pa ro ru " +
  "sr sk sl es sv ta te th tr uk vi"
).split(" ")

/** Brave's language codes where they differ from ISO 639-1. */
const searchLang = (language: string, locale: string): string => {
  if (language === "zh") return /-(tw|hk|mo)$/.test(locale) ? "zh-hant" : "zh-hans"
  if (language === "pt") return locale === "pt-pt" ? "pt-pt" : "pt-br"
  if (language === "ja") return "jp"
  if (language === "no") return "nb"
  return locale === "en-gb" ? locale : language
}

/** Parses `x-ratelimit-reset`: seconds until the per-second and the monthly window reset, such as `1, 419704`. */
const resetMs = (header: string | undefined, window: "second" | "month"): number | undefined => {
  const seconds = header
    ?.split(",")
    .map(Number)
    .at(window === "second" ? 0 : -1)
  return seconds === undefined || Number.isNaN(seconds) ? undefined : seconds * 1000
}

const periods = { day: "pd", week: "pw", month: "pm", year: "py" } as const

/** A range needs both ends. No page is older than the web. */
const earliest = "1990-01-01"

const freshness = ({ after, before, freshness, today }: CallOptions): string | undefined => {
  if (freshness !== undefined) return periods[freshness]
  return after === undefined && before === undefined ? undefined : `${after ?? earliest}to${before ?? today}`
}

export const type = SearchApi.type({
  url: "https://api.search.brave.com",
  needsKey: true,
  capabilities: () => ({
    paging: { kind: "sized", maxPageSize: 20, maxPages: 10 },
    safe: ["off", "moderate", "strict"],
    countries,
    languages,
    maxQueryCodePoints: 400,
    maxQueryWords: 50,
    options: {
      freshness: freshnessPeriods,
      dates: true,
      domains: { kind: "operators", or: "OR", canExclude: true },
      news: true
    }
  }),
  request: ({ country, language, locale, options, page, query, rows, safe }, { key, url }) =>
    UpstreamRequest.get(
      options?.isNews === true ? `${url}/res/v1/news/search` : `${url}/res/v1/web/search`,
      {
        q: query,
        count: rows,
        offset: page - 1,
        country: country?.toUpperCase() ?? "ALL",
        search_lang: language === undefined ? undefined : searchLang(language, locale),
        safesearch: safe,
        ...(options?.isNews === true ? {} : { result_filter: "web", text_decorations: "false" }),
        freshness: options === undefined ? undefined : freshness(options)
      },
      key === undefined ? {} : { "x-subscription-token": Redacted.value(key) }
    ),
  answer: {
    rows: ["web", "results"],
    marks: ["web", "query", "type", "mixed"],
    url: "url",
    title: "title",
    snippet: "description",
    published: "page_age",
    isHtml: true
  },
  newsAnswer: {
    rows: ["results"],
    marks: ["results", "query", "type"],
    url: "url",
    title: "title",
    snippet: "description",
    published: "page_age",
    isHtml: true
  },
  dialect: {
    retryAfterMs: (header, reason) =>
      reason === "rate_limited" || reason === "quota"
        ? resetMs(header("x-ratelimit-reset"), reason === "quota" ? "month" : "second")
        : undefined
  }
})
