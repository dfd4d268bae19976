// The same HTTP client as Quarry's. It is faster than Node's `fetch`, which is built on it.
import * as Undici from "@effect/platform-node/Undici"
import type { UpstreamRow } from "../../src/domain/search/Organic.ts"
import type { Search } from "./Search.ts"

const timeoutMs = 15_000
const engines = {
  alpha_search: "google",
  beta_search: "bing",
  gamma_search: "duckduckgo",
  delta_search: "brave",
  epsilon_search: "yandex",
  zeta_search: "mojeek"
} as const
const safesearch: Readonly<Record<string, string>> = { off: "0", moderate: "1", strict: "2" }

interface Answer {
  readonly results: ReadonlyArray<{
    readonly url: string
    readonly title: string
    readonly content?: string | null
    readonly engine?: string | null
  }>
}

/** A client of SearXNG with keep-alive connections. Rejects if a call fails in any way. */
export const makeUpstream = (base: string) => {
  const agent = new Undici.Agent({ connections: null })

  const page = async (search: Search, number: number): Promise<ReadonlyArray<UpstreamRow>> => {
    const engine = engines[search.target]
    const parameters = new URLSearchParams({
      q: search.query,
      format: "json",
      engines: engine,
      pageno: String(number),
      language: `${search.locale.slice(0, 2)}-${search.locale.slice(3).toUpperCase()}`,
      safesearch: safesearch[search.safe] ?? "0"
    })
    const response = await Undici.request(`${base}/search?${parameters}`, {
      dispatcher: agent,
      headers: { "accept-language": "en" },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs
    })
    const text = await response.body.text()
    if (response.statusCode !== 200) throw new Error(`the upstream answered ${response.statusCode}`)
    // The upstream's response is untrusted: if it differs from the documentation, the search fails.
    const { results } = JSON.parse(text) as Answer
    if (!Array.isArray(results)) throw new Error("the upstream's answer is not as documented")
    return results
      .filter((row) => row.engine === engine && typeof row.url === "string" && typeof row.title === "string")
      .map(({ content, title, url }) => ({ url, title, snippet: content ?? "" }))
  }

  /** The upstream has ten rows per page, so more or later rows need several pages. */
  return async (search: Search): Promise<ReadonlyArray<UpstreamRow>> => {
    const from = (search.page - 1) * search.num
    const first = Math.floor(from / 10) + 1
    const last = Math.ceil((from + search.num) / 10)
    if (first === last && from % 10 === 0) return page(search, first)
    const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index)
    const pages = await Promise.all(numbers.map((number) => page(search, number)))
    return pages.flat().slice(from - (first - 1) * 10)
  }
}
