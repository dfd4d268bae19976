import { Redacted } from "effect"
import { anyDomains, type CallOptions } from "../../../domain/options/OptionSupport.ts"
import { freshnessPeriods } from "../../../domain/options/SearchOptions.ts"
import { countriesOf, placeOf } from "../places.ts"
import * as SearchApi from "../SearchApi.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

const listed = (sites: ReadonlyArray<string>) => (sites.length === 0 ? undefined : sites)

const optionsIn = ({ after, before, excludeDomains, freshness, includeDomains }: CallOptions) => ({
  ...(freshness === undefined ? { start_date: after, end_date: before } : { time_range: freshness }),
  include_domains: listed(includeDomains),
  exclude_domains: listed(excludeDomains)
})

export const type = SearchApi.type({
  url: "https://api.tavily.com",
  needsKey: true,
  capabilities: () => ({
    paging: { kind: "first", maxRows: 20 },
    safe: ["off"],
    countries: countriesOf("tavily", "country"),
    languages: "none",
    options: { freshness: freshnessPeriods, dates: true, domains: anyDomains, news: true }
  }),
  request: ({ options, query, rows, ...place }, { key, url }) =>
    UpstreamRequest.post(
      `${url}/search`,
      {
        query,
        max_results: rows,
        search_depth: "basic",
        topic: options?.isNews === true ? "news" : "general",
        // Tavily accepts a country for general searches only.
        ...(options?.isNews === true ? {} : placeOf("tavily", place)),
        ...(options === undefined ? {} : optionsIn(options))
      },
      key === undefined ? {} : { authorization: `Bearer ${Redacted.value(key)}` }
    ),
  answer: {
    rows: ["results"],
    marks: ["results"],
    url: "url",
    title: "title",
    snippet: "content",
    published: "published_date"
  },
  dialect: { statuses: { 432: { reason: "quota" }, 433: { reason: "quota" } } }
})
