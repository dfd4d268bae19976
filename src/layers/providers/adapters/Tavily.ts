import { Redacted } from "effect"
import { anyDomains, type CallOptions } from "../../../domain/options/OptionSupport.ts"
import { freshnessPeriods } from "../../../domain/options/SearchOptions.ts"
import * as SearchApi from "../SearchApi.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

/** Tavily takes countries by name. Countries with several spellings are left out. */
const countries = (
  "ae ar at au be bg br ca ch cl cn co de dk ee eg es fi fr gb gr hr hu id ie il in it jp ke kr lt lv mx my ng nl no nz " +
  "pe ph pk pl pt ro sa se sg si sk th tn ua us za"
).split(" ")

const names = new Intl.DisplayNames("en", { type: "region" })

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
    countries,
    languages: "none",
    options: { freshness: freshnessPeriods, dates: true, domains: anyDomains, news: true }
  }),
  request: ({ country, options, query, rows }, { key, url }) =>
    UpstreamRequest.post(
      `${url}/search`,
      {
        query,
        max_results: rows,
        search_depth: "basic",
        topic: options?.isNews === true ? "news" : "general",
        // Tavily accepts a country for general searches only.
        country:
          country === undefined || options?.isNews === true
            ? undefined
            : names.of(country.toUpperCase())?.toLowerCase(),
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
