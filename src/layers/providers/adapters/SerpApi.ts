import type { Capabilities, UpstreamCall } from "../../../domain/search/Capabilities.ts"
import type { Safe } from "../../../domain/search/Target.ts"
import * as SearchApi from "../SearchApi.ts"
import * as Upstream from "../Upstream.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

type Parameters = Readonly<Record<string, string | number | undefined>>

/** Parameters of one engine. Each engine names them differently. */
interface Engine {
  readonly query: string
  readonly safe?: { readonly [S in Safe]: string | number } & { readonly parameter: string }
  /** Omitted if the engine has only one page. */
  readonly page?: (call: UpstreamCall) => Parameters
  readonly locale: (call: UpstreamCall) => Parameters
}

const upper = (code: string | undefined) => code?.toUpperCase()

const engines: { readonly [name: string]: Engine } = {
  google: {
    query: "q",
    safe: { parameter: "safe", off: "off", moderate: "active", strict: "active" },
    page: ({ offset }) => ({ start: offset }),
    locale: ({ country, language }) => ({ gl: country, hl: language })
  },
  bing: {
    query: "q",
    safe: { parameter: "safeSearch", off: "off", moderate: "moderate", strict: "strict" },
    page: ({ offset }) => ({ first: offset + 1 }),
    locale: ({ country }) => ({ cc: upper(country) })
  },
  duckduckgo: {
    query: "q",
    safe: { parameter: "safe", off: -2, moderate: -1, strict: 1 },
    page: ({ offset }) => ({ start: offset }),
    locale: ({ country, language }) => ({ kl: `${country === "gb" ? "uk" : country}-${language}` })
  },
  yandex: {
    query: "text",
    page: ({ page }) => ({ p: page - 1 }),
    locale: ({ language }) => ({ lang: language })
  },
  yahoo: {
    query: "p",
    page: ({ offset }) => ({ b: offset + 1 }),
    locale: ({ country, language }) => ({ vc: country, vl: language === undefined ? undefined : `lang_${language}` })
  },
  baidu: { query: "q", page: ({ offset }) => ({ pn: offset }), locale: () => ({}) },
  naver: { query: "query", locale: () => ({}) }
}

const pageSize = 10

const capabilities = (name: string): Capabilities => {
  const engine = engines[name]
  return {
    paging: engine?.page === undefined ? { kind: "first", maxRows: pageSize } : { kind: "fixed", pageSize },
    safe: engine?.safe === undefined ? ["off"] : ["off", "moderate", "strict"],
    countries: name === "baidu" || name === "naver" || name === "yandex" ? "none" : "any",
    languages: name === "baidu" || name === "naver" || name === "bing" ? "none" : "any"
  }
}

/** SerpApi reports a successful search without results as an error with this text. */
const nothingFound = /hasn't returned any results|no results/i

/** SerpApi, the results of other engines. */
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
      ...engine?.locale(call),
      ...(engine?.safe === undefined ? {} : { [engine.safe.parameter]: engine.safe[call.safe] }),
      api_key: key
    })
  },
  answer: {
    rows: ["organic_results"],
    marks: ["organic_results", "search_metadata", "search_information"],
    url: "link",
    title: "title",
    snippet: "snippet",
    problem: (json) => {
      const error = "error" in json ? Upstream.wordsOf(json.error) : ""
      return error === "" || nothingFound.test(error) ? "" : `error ${error}`
    }
  }
})
