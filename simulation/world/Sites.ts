import { type Duration, Effect, Layer } from "effect"
import { PageUnreadable } from "../../src/domain/errors.ts"
import { PageFetcher } from "../../src/services/pages/PageFetcher.ts"
import { PageParser } from "../../src/services/pages/PageParser.ts"
import type { Chance } from "./Chance.ts"

/** The text of the page at an address. It says which page it is, so that the text of another one is found out. */
export const textAt = (url: string): string => `The text of ${url}.`

/** Pages of the internet: their path says what becomes of them. */
export const paths = ["/a", "/b", "/c", "/slow", "/moved", "/gone", "/silent", "/broken"] as const

const fetchPage = (chance: Chance, url: URL, timeout: Duration.Duration) => {
  const answer = (ms: number) => {
    const finalUrl = url.pathname === "/moved" ? new URL("/a", url).href : url.href
    const bytes = new TextEncoder().encode(finalUrl)
    return Effect.delay(Effect.succeed({ finalUrl, status: 200, contentType: "text/html", bytes }), chance.wait(ms))
  }
  switch (url.pathname) {
    case "/gone":
      return Effect.delay(PageUnreadable.because("not_found", 404), chance.wait(150))
    case "/silent":
      return Effect.delay(PageUnreadable.because("timed_out"), timeout)
    case "/broken":
      return Effect.die(new Error("a fetcher that breaks"))
    default:
      return answer(url.pathname === "/slow" ? 6_000 : 150)
  }
}

const nothing = { title: null, description: null, author: null, siteName: null, published: null, language: null }

/** The web as one replica reads it. */
export const webOf = (chance: Chance) =>
  Layer.merge(
    Layer.succeed(PageFetcher, { fetch: (url, _, timeout) => fetchPage(chance, url, timeout) }),
    Layer.succeed(PageParser, {
      parse: ({ bytes }) => {
        const url = new TextDecoder().decode(bytes)
        const text = textAt(url)
        return Effect.succeed({ ...nothing, mediaType: "text/html", markdown: text, text, links: [] })
      }
    })
  )
