import { Redacted } from "effect"
import { anyDomains, type CallOptions } from "../../../domain/options/OptionSupport.ts"
import { placeOf } from "../places.ts"
import * as SearchApi from "../SearchApi.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

const listed = (sites: ReadonlyArray<string>) => (sites.length === 0 ? undefined : sites)

const optionsIn = ({ after, before, excludeDomains, includeDomains, isNews }: CallOptions) => ({
  startPublishedDate: after === undefined ? undefined : `${after}T00:00:00.000Z`,
  endPublishedDate: before === undefined ? undefined : `${before}T23:59:59.999Z`,
  includeDomains: listed(includeDomains),
  excludeDomains: listed(excludeDomains),
  category: isNews ? "news" : undefined
})

export const type = SearchApi.type({
  url: "https://api.exa.ai",
  needsKey: true,
  capabilities: () => ({
    paging: { kind: "first", maxRows: 100 },
    safe: ["off", "moderate", "strict"],
    countries: "any",
    languages: "none",
    options: { dates: true, domains: anyDomains, news: true }
  }),
  request: ({ options, query, rows, safe, ...place }, { key, url }) =>
    UpstreamRequest.post(
      `${url}/search`,
      {
        query,
        type: "auto",
        numResults: rows,
        ...placeOf("exa", place),
        moderation: safe !== "off",
        contents: { highlights: { numSentences: 2, highlightsPerUrl: 1 } },
        ...(options === undefined ? {} : optionsIn(options))
      },
      key === undefined ? {} : { "x-api-key": Redacted.value(key) }
    ),
  answer: {
    rows: ["results"],
    marks: ["results"],
    url: "url",
    title: "title",
    published: "publishedDate",
    snippet: ({ highlights, summary, text }: { highlights?: unknown; summary?: unknown; text?: unknown }) =>
      (Array.isArray(highlights) ? highlights[0] : undefined) ?? summary ?? text
  },
  dialect: {
    // https://docs.exa.ai/reference/error-codes, read on 2026-11-27.
    codes: {
      INVALID_API_KEY: "unauthorized",
      NO_MORE_CREDITS: "quota",
      API_KEY_BUDGET_EXCEEDED: "quota",
      INVALID_REQUEST_BODY: "malformed",
      INVALID_REQUEST: "malformed",
      INVALID_NUM_RESULTS: "malformed",
      NUM_RESULTS_EXCEEDED: "malformed",
      FEATURE_DISABLED: "malformed"
    }
  }
})
