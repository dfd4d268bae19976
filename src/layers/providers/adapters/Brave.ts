import { Redacted } from "effect"
import type { CallOptions } from "../../../domain/options/OptionSupport.ts"
import { freshnessPeriods } from "../../../domain/options/SearchOptions.ts"
import { countriesOf, languagesOf, placeOf } from "../places.ts"
import * as SearchApi from "../SearchApi.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

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
    countries: countriesOf("brave", "country"),
    languages: languagesOf("brave", "search_lang"),
    maxQueryCodePoints: 400,
    maxQueryWords: 50,
    options: {
      freshness: freshnessPeriods,
      dates: true,
      domains: { kind: "operators", or: "OR", canExclude: true },
      news: true
    }
  }),
  request: ({ options, page, query, rows, safe, ...place }, { key, url }) =>
    UpstreamRequest.get(
      options?.isNews === true ? `${url}/res/v1/news/search` : `${url}/res/v1/web/search`,
      {
        q: query,
        count: rows,
        offset: page - 1,
        ...placeOf("brave", place),
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
    // https://api-dashboard.search.brave.com/app/documentation/web-search/responses, read on 2026-11-27.
    codes: {
      SUBSCRIPTION_TOKEN_INVALID: "unauthorized",
      SUBSCRIPTION_TOKEN_MISSING: "unauthorized",
      SUBSCRIPTION_NOT_FOUND: "unauthorized",
      RESOURCE_NOT_ALLOWED: "unauthorized",
      OPTION_NOT_IN_PLAN: "malformed",
      VALIDATION: "malformed",
      RATE_LIMITED: "rate_limited",
      QUOTA_LIMITED: "quota",
      USAGE_LIMIT_EXCEEDED: "quota"
    },
    retryAfterMs: (header, reason) =>
      reason === "rate_limited" || reason === "quota"
        ? resetMs(header("x-ratelimit-reset"), reason === "quota" ? "month" : "second")
        : undefined
  }
})
