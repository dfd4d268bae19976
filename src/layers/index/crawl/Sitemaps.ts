import { Effect, Result } from "effect"
import type { PageUnreadable } from "../../../domain/errors.ts"
import { pageOnHost } from "../../../domain/pages/links.ts"
import { maxPageBytes } from "../../../domain/pages/Page.ts"
import { maxRobotsBytes, parseRobots, type RobotsRules } from "../../../domain/pages/robots.ts"
import { unreadableMessages } from "../../../domain/UnreadableReason.ts"
import type { FetchedPage } from "../../../services/pages/PageFetcher.ts"
import { decodeBody } from "../../outgoing/Body.ts"
import { readSitemap, type Sitemap, sitemapsIn } from "./markup.ts"

/** The pages that a site names, and its rules for crawlers. */
export interface SiteMap {
  /** Empty if the site has no sitemap. */
  readonly pages: ReadonlyArray<string>
  /** The site's robots.txt. Undefined if it could not be read. */
  readonly rules: RobotsRules | undefined
}

/** Receives a file that was not read completely, so that pages may be missing from the result. */
type OnProblem = (url: string, problem: string) => void

type ReadFile = (url: URL, maxBytes: number) => Effect.Effect<Result.Result<FetchedPage, PageUnreadable>>

/** The protocol's limit, also for the content of a gzip file. */
const maxSitemapBytes = 50 * 1024 * 1024
const maxSitemaps = 50

const isMissing = ({ httpStatus = 0 }: PageUnreadable): boolean =>
  httpStatus >= 400 && httpStatus < 500 && httpStatus !== 429

const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b

/** Undefined for a file that is not sitemap XML. */
const parse = (bytes: Uint8Array): Effect.Effect<Sitemap | undefined> =>
  isGzip(bytes)
    ? decodeBody(bytes, { coding: "gzip", maxBytes: maxSitemapBytes }).pipe(
        Effect.match({ onSuccess: readSitemap, onFailure: () => undefined })
      )
    : Effect.sync(() => readSitemap(bytes))

/** A robots.txt that is missing allows everything (RFC 9309, 2.3.1.3). */
const readRobots = Effect.fnUntraced(function* (readFile: ReadFile, address: URL, onProblem: OnProblem) {
  const url = new URL("/robots.txt", address)
  const robots = yield* readFile(url, maxPageBytes)
  if (Result.isSuccess(robots)) {
    const bytes = robots.success.bytes.subarray(0, maxRobotsBytes)
    return { rules: parseRobots(new TextDecoder().decode(bytes)), sitemaps: sitemapsIn(bytes) }
  }
  if (isMissing(robots.failure)) return { rules: [], sitemaps: [] }
  // The fetcher applies a robots.txt to itself, and a server error excludes everything.
  const { message, reason } = robots.failure
  onProblem(url.href, reason === "robots_disallowed" ? unreadableMessages.site_error : message)
  return { rules: undefined, sitemaps: [] }
})

const problemOf = (fetched: Result.Result<FetchedPage, PageUnreadable>, sitemap: Sitemap | undefined) => {
  if (Result.isFailure(fetched)) return fetched.failure.message
  if (sitemap === undefined) return "The file is not a sitemap in XML."
  return sitemap.isWhole ? undefined : "The sitemap ends early, or has more than 50,000 addresses."
}

/** Most sites without a sitemap return 404 for the usual address, or a page for people. */
const isNoSitemap = (fetched: Result.Result<FetchedPage, PageUnreadable>, sitemap: Sitemap | undefined): boolean =>
  Result.isSuccess(fetched) ? sitemap === undefined : isMissing(fetched.failure)

/** Reads robots.txt and the sitemaps that it names, or else `/sitemap.xml`. */
export const readSiteMap = Effect.fnUntraced(function* (
  readFile: ReadFile,
  address: URL,
  onProblem: OnProblem
): Effect.fn.Return<SiteMap> {
  const { rules, sitemaps } = yield* readRobots(readFile, address, onProblem)
  const usual = new URL("/sitemap.xml", address).href
  const waiting = sitemaps.length > 0 ? [...sitemaps] : [usual]
  const seen = new Set<string>()
  const pages = new Set<string>()
  for (const next of waiting) {
    const url = URL.parse(next, address.href)
    if (url === null || seen.has(url.href)) continue
    if (seen.size >= maxSitemaps) {
      onProblem(url.href, `This sitemap was not read: a crawl reads at most ${maxSitemaps}.`)
      break
    }
    seen.add(url.href)
    if (url.host !== address.host) {
      onProblem(url.href, "This sitemap was not read, because it is on another host.")
      continue
    }
    const fetched = yield* readFile(url, maxSitemapBytes)
    const sitemap = Result.isSuccess(fetched) ? yield* parse(fetched.success.bytes) : undefined
    const problem = problemOf(fetched, sitemap)
    const isGuess = sitemaps.length === 0 && url.href === usual
    if (problem !== undefined && !(isGuess && isNoSitemap(fetched, sitemap))) onProblem(url.href, problem)
    if (sitemap?.isIndex === true) waiting.push(...sitemap.locations)
    for (const location of sitemap?.isIndex === false ? sitemap.locations : []) {
      const page = pageOnHost(location, address)
      if (page !== undefined) pages.add(page)
    }
  }
  return { pages: [...pages], rules }
})
