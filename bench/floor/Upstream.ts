// Uses the same HTTP client as Quarry, in the same way.
import * as Undici from "@effect/platform-node/Undici"
import { rank, type UpstreamRow } from "../../src/domain/search/Organic.ts"
import { Ranking } from "../../src/domain/search/Ranking.ts"

const engine = "google"
const headers = { "accept-language": "en", accept: "application/json", "accept-encoding": "gzip, br" }

interface Row {
  readonly url: string
  readonly title: string
  readonly content: string
}

const toRow = ({ content, title, url }: Row): UpstreamRow => ({ url, title, snippet: content })

/** Returns the ranked results of a SearXNG without validating its response. */
export const makeUpstream = (origin: string) => {
  const agent = new Undici.Agent()
  return (query: string): Promise<Ranking> =>
    new Promise((resolve, reject) => {
      const pieces: Array<Buffer> = []
      const parameters = new URLSearchParams({
        q: query,
        format: "json",
        engines: engine,
        pageno: "1",
        language: "en-US",
        safesearch: "0"
      })
      agent.dispatch(
        { method: "GET", origin, path: `/search?${parameters}`, headers, headersTimeout: 0, bodyTimeout: 0 },
        {
          onRequestStart: () => undefined,
          onResponseStart: () => undefined,
          onResponseData: (_, piece) => void pieces.push(piece),
          onResponseEnd: () => {
            const { results } = JSON.parse(Buffer.concat(pieces).toString()) as { readonly results: ReadonlyArray<Row> }
            resolve(new Ranking(rank(results.map(toRow), 10)))
          },
          onResponseError: (_, error) => reject(error)
        }
      )
    })
}
