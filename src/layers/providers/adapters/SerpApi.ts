import type { CallOptions, DomainSupport, OptionSupport } from "../../../domain/options/OptionSupport.ts"
import { freshnessPeriods } from "../../../domain/options/SearchOptions.ts"
import type { Capabilities, UpstreamCall } from "../../../domain/search/Capabilities.ts"
import type { Safe } from "../../../domain/search/Target.ts"
import { googleTbs } from "../googleTbs.ts"
import { placeOf } from "../places.ts"
import * as SearchApi from "../SearchApi.ts"
import * as Upstream from "../Upstream.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

type Parameters = Readonly<Record<string, string | number | undefined>>

interface Engine {
  readonly query: string
  readonly safe?: { readonly [S in Safe]: string | number } & { readonly parameter: string }
  readonly page?: (call: UpstreamCall) => Parameters
  readonly options?: OptionSupport
  readonly optionsIn?: (options: CallOptions) => Parameters
}

const bySite: DomainSupport = { kind: "operators", or: "OR", canExclude: true }

/** A range needs both ends. No page is older than the web. */
const earliest = "1990-01-01"

const engines: { readonly [name: string]: Engine } = {
  google: {
    query: "q",
    safe: { parameter: "safe", off: "off", moderate: "active", strict: "active" },
    page: ({ offset }) => ({ start: offset }),
    options: { freshness: freshnessPeriods, dates: true, domains: bySite, news: true },
    optionsIn: (options) => ({ tbs: googleTbs(options), tbm: options.isNews ? "nws" : undefined })
  },
  bing: {
    query: "q",
    safe: { parameter: "safeSearch", off: "off", moderate: "moderate", strict: "strict" },
    page: ({ offset }) => ({ first: offset + 1 }),
    options: { domains: bySite }
  },
  duckduckgo: {
    query: "q",
    safe: { parameter: "safe", off: -2, moderate: -1, strict: 1 },
    page: ({ offset }) => ({ start: offset }),
    options: { freshness: freshnessPeriods, dates: true, domains: bySite },
    optionsIn: ({ after, before, freshness, today }) => ({
      df:
        freshness?.slice(0, 1) ??
        ((after ?? before) === undefined ? undefined : `${after ?? earliest}..${before ?? today}`)
    })
  },
  yandex: {
    query: "text",
    page: ({ page }) => ({ p: page - 1 })
  },
  yahoo: {
    query: "p",
    page: ({ offset }) => ({ b: offset + 1 }),
    options: { domains: bySite }
  },
  baidu: { query: "q", page: ({ offset }) => ({ pn: offset }) },
  naver: { query: "query" }
}

const pageSize = 10

const capabilities = (name: string): Capabilities => {
  const engine = engines[name]
  return {
    paging: engine?.page === undefined ? { kind: "first", maxRows: pageSize } : { kind: "fixed", pageSize },
    safe: engine?.safe === undefined ? ["off"] : ["off", "moderate", "strict"],
    countries: name === "baidu" || name === "naver" || name === "yandex" ? "none" : "any",
    languages: name === "baidu" || name === "naver" || name === "bing" ? "none" : "any",
    ...(engine?.options === undefined ? {} : { options: engine.options })
  }
}

/** SerpApi reports a successful search without results as an error with this text. */
const nothingFound = /hasn't returned any results|no results/i

const marks = ["search_metadata", "search_information"]

const row = {
  url: "link",
  title: "title",
  snippet: "snippet",
  published: "date",
  problem: (json: object) => {
    const error = "error" in json ? Upstream.wordsOf(json.error) : ""
    return error === "" || nothingFound.test(error) ? "" : `error ${error}`
  }
}

export const type = SearchApi.type({
  url: "https://serpapi.com",
  engines: ["google", "bing", "duckduckgo", "yandex", "yahoo", "baidu", "naver"],
  needsKey: true,
  capabilities,
  request: (call, { engine: name, key, url }) => {
    const engine = engines[name]
    return UpstreamRequest.get(`${url}/search.json`, {
      engine: name,
      [engine?.query ?? "q"]: call.query,
      ...engine?.page?.(call),
      ...placeOf(`serpapi/${name}`, call),
      ...(call.options === undefined ? {} : engine?.optionsIn?.(call.options)),
      ...(engine?.safe === undefined ? {} : { [engine.safe.parameter]: engine.safe[call.safe] }),
      api_key: key
    })
  },
  answer: { rows: ["organic_results"], marks: ["organic_results", ...marks], ...row },
  newsAnswer: { rows: ["news_results"], marks: ["news_results", ...marks], ...row }
})
