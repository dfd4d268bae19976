import { createHash } from "node:crypto"
import { Clock, Duration, Effect, Result, Stream } from "effect"
import type { PageUnreadable } from "../../../domain/errors.ts"
import { readPublished } from "../../../domain/options/published.ts"
import { pageOnHost } from "../../../domain/pages/links.ts"
import type { ParsedPage } from "../../../domain/pages/Page.ts"
import { allowsPage, type RobotsRules } from "../../../domain/pages/robots.ts"
import type { Target } from "../../../domain/search/Target.ts"
import { unreadableMessages } from "../../../domain/UnreadableReason.ts"
import { type Document, DocumentIndex } from "../../../services/index/DocumentIndex.ts"
import { type FetchedPage, type FetchOptions, PageFetcher } from "../../../services/pages/PageFetcher.ts"
import { PageParser } from "../../../services/pages/PageParser.ts"
import type { CrawlState, PageLine } from "./CrawlState.ts"
import { readMarkup, withoutMarkup } from "./markup.ts"
import { readSiteMap, type SiteMap } from "./Sitemaps.ts"

export interface CrawlOptions {
  readonly address: URL
  readonly maxPages: number
  /** Maximum links from the start to a page. Undefined: unlimited. */
  readonly depth: number | undefined
  /** Path patterns as in robots.txt: a prefix, with `*` and a final `$`. Empty: all paths. */
  readonly include: ReadonlyArray<string>
  readonly exclude: ReadonlyArray<string>
  readonly delay: Duration.Duration
  readonly timeout: Duration.Duration
  readonly target: Target | undefined
  readonly replace: boolean
}

export interface CrawlProblem {
  readonly url: string
  readonly problem: string
}

export interface CrawlReport {
  readonly loaded: number
  readonly unchanged: number
  readonly removed: number
  readonly failed: number
  readonly problems: ReadonlyArray<CrawlProblem>
  /** False if pages that still exist may not have been found. Pages that were not found are then never removed. */
  readonly findsAll: boolean
}

/** After a kill, the next crawl reads at most this many pages again. */
const pagesAtOnce = 25

const maxProblems = 100
const maxDescription = 300

/** Increased when a crawl keeps more of a page than before, so that the next crawl reads unchanged pages again. */
const pageVersion = 2

/** Crawls belong to no account, so their fetches do not take turns with accounts. */
const crawler = "crawl"

const patterns = (paths: ReadonlyArray<string>): RobotsRules => [
  { isAllowed: false, pattern: "/" },
  ...paths.map((pattern) => ({ isAllowed: true, pattern }))
]

const makeScope = ({ address, exclude, include }: CrawlOptions) => {
  const included = patterns(include)
  const excluded = patterns(exclude)
  return (url: URL): boolean =>
    url.host === address.host &&
    (include.length === 0 || allowsPage(included, url)) &&
    !(exclude.length > 0 && allowsPage(excluded, url))
}

const languageOf = ({ language }: ParsedPage) => {
  const found = /^[a-z]{2}/i.exec(language ?? "")?.[0].toLowerCase()
  return found === undefined ? {} : { language: found }
}

const publishedOf = ({ published }: ParsedPage) => {
  const date = readPublished(published, 0)
  return date === undefined ? {} : { published: date }
}

const toDocument = (url: string, page: ParsedPage): Document => {
  const headings = page.markdown
    .split("\n")
    .flatMap((line) => /^#{1,6} (.+)$/.exec(line)?.[1] ?? [])
    .join("\n")
  return {
    url,
    title: page.title ?? new URL(url).pathname,
    headings,
    description: page.description ?? page.text.slice(0, maxDescription),
    content: page.text,
    ...languageOf(page),
    ...publishedOf(page)
  }
}

const hashOf = (document: Document): string => createHash("sha256").update(JSON.stringify(document)).digest("hex")

const makeReader = Effect.gen(function* () {
  const fetcher = yield* PageFetcher
  let nextAt = 0
  return Effect.fnUntraced(function* (url: URL, { delay, timeout }: CrawlOptions, fetchOptions: FetchOptions = {}) {
    const now = yield* Clock.currentTimeMillis
    if (nextAt > now) yield* Effect.sleep(nextAt - now)
    nextAt = (yield* Clock.currentTimeMillis) + Duration.toMillis(delay)
    return yield* Effect.result(fetcher.fetch(url, crawler, timeout, fetchOptions))
  })
})

type Read = Effect.Success<typeof makeReader>

interface Waiting {
  readonly url: string
  readonly depth: number
  /** The canonical address of a page that waits for the crawl to read that address. */
  readonly canonical?: string
}

interface Crawl {
  readonly options: CrawlOptions
  readonly state: CrawlState
  readonly index: DocumentIndex["Service"]
  readonly parser: PageParser["Service"]
  readonly read: Read
  readonly isInScope: (url: URL) => boolean
  pending: Array<{ readonly line: PageLine; readonly document: Document | undefined }>
  /** False after an error that may have hidden pages, which then must not be removed (R84). */
  findsAll: boolean
  readonly tally: { loaded: number; unchanged: number; failed: number; problems: Array<CrawlProblem> }
}

/** Writes documents before their lines, so that a line never names a page that is missing from the index. */
const flush = (crawl: Crawl) =>
  Effect.uninterruptible(
    Effect.suspend(() => {
      const { index, options, pending, state, tally } = crawl
      crawl.pending = []
      if (pending.length === 0) return Effect.void
      const documents = pending.flatMap(({ document }) => document ?? [])
      tally.loaded += documents.length
      const load =
        documents.length === 0
          ? Effect.void
          : index.load(Stream.fromIterable(documents), { target: options.target, replace: false })
      return Effect.andThen(load, state.write(pending.map(({ line }) => line)))
    })
  )

const fail = ({ tally }: Crawl, url: string, problem: string): void => {
  tally.failed++
  if (tally.problems.length < maxProblems) tally.problems.push({ url, problem })
}

const keep = ({ pending, state }: Crawl, line: PageLine, document?: Document): PageLine => {
  pending.push({ line, document })
  state.pages.set(line.url, line)
  return line
}

const readMap = (crawl: Crawl) => {
  const { options, read } = crawl
  const readFile = (url: URL, maxFileBytes: number) => read(url, options, { maxFileBytes })
  return readSiteMap(readFile, options.address, (url, problem) => {
    crawl.findsAll = false
    fail(crawl, url, problem)
  })
}

/** A line without the facts of earlier runs, except the text in the index. */
const lineOf = ({ etag, finalUrl: url, lastModified }: FetchedPage, run: number, known: PageLine | undefined) => ({
  url,
  run,
  version: pageVersion,
  ...(known?.hash === undefined ? {} : { hash: known.hash }),
  ...(etag === undefined ? {} : { etag }),
  ...(lastModified === undefined ? {} : { lastModified })
})

const digest = Effect.fnUntraced(function* (
  crawl: Crawl,
  fetched: FetchedPage,
  known: PageLine | undefined,
  isOwn: boolean
) {
  const { bytes, contentType, finalUrl: url, robotsTags = [] } = fetched
  // Must precede parsing, because the parser takes ownership of the bytes.
  const markup = /json|pdf/i.test(contentType ?? "") ? withoutMarkup(robotsTags) : readMarkup(bytes, url, robotsTags)
  const { canonical = url, isIndexed, links } = markup
  const line = { ...lineOf(fetched, crawl.state.run, known), links }
  if (!isIndexed) return keep(crawl, { ...line, isGone: true })
  if (!isOwn && canonical !== url && crawl.isInScope(new URL(canonical))) return keep(crawl, { ...line, canonical })
  const parsed = yield* Effect.result(crawl.parser.parse({ bytes, contentType, url, accountId: crawler }))
  if (Result.isFailure(parsed)) {
    fail(crawl, url, unreadableMessages[parsed.failure.reason])
    const { version: _, ...unread } = line
    return keep(crawl, unread)
  }
  const document = toDocument(url, parsed.success)
  const hash = hashOf(document)
  if (hash !== known?.hash) return keep(crawl, { ...line, hash }, document)
  crawl.tally.unchanged++
  return keep(crawl, line)
})

/** True if the failure may hide links that the page still has. */
const hidesLinks = ({ httpStatus, reason }: PageUnreadable, known: PageLine | undefined): boolean => {
  if (reason === "unsupported_media_type" || reason === "robots_disallowed") return false
  return reason !== "forbidden" || httpStatus === 429 || known?.links !== undefined
}

const keepFailed = (crawl: Crawl, url: string, failure: PageUnreadable, map: SiteMap): PageLine => {
  const { state, tally } = crawl
  const { isGone: _, movedTo, ...known }: Partial<PageLine> = state.pages.get(url) ?? {}
  if (failure.httpStatus === 304) {
    tally.unchanged++
    return keep(crawl, { ...known, url, run: state.run })
  }
  fail(crawl, url, failure.message)
  const isExcluded = failure.reason === "robots_disallowed" && map.rules !== undefined
  const isGone = failure.reason === "not_found" || (isExcluded && !allowsPage(map.rules, new URL(url)))
  if (!isGone && hidesLinks(failure, state.pages.get(url))) crawl.findsAll = false
  if (isGone) return keep(crawl, { ...known, url, run: state.run, isGone, links: [] })
  return keep(crawl, { ...known, url, run: state.run, ...(movedTo === undefined ? {} : { movedTo }) })
}

/** A page that redirects keeps its links, because a redirect may be a passing one, such as to a page about an outage. */
const keepMoved = (crawl: Crawl, url: string, finalUrl: string): PageLine => {
  const { options, state } = crawl
  const movedTo = pageOnHost(finalUrl, options.address)
  if (movedTo === undefined) fail(crawl, url, "It redirects to another site.")
  const { canonical: _, isGone: __, ...known } = state.pages.get(url) ?? { url }
  return keep(crawl, { ...known, run: state.run, ...(movedTo === undefined ? {} : { movedTo }) })
}

const visit = Effect.fnUntraced(function* (
  crawl: Crawl,
  { canonical, url }: Waiting,
  map: SiteMap
): Effect.fn.Return<PageLine> {
  const { options, state } = crawl
  const known = state.pages.get(url)
  const isOwn = canonical !== undefined
  if (known?.run === state.run && !isOwn) return known
  const isCurrent = known?.hash !== undefined && known.version === pageVersion
  const version = isCurrent ? { etag: known.etag, lastModified: known.lastModified } : {}
  const fetched = yield* crawl.read(new URL(url), options, version)
  if (Result.isFailure(fetched)) return keepFailed(crawl, url, fetched.failure, map)
  const { finalUrl } = fetched.success
  if (finalUrl !== url) return keepMoved(crawl, url, finalUrl)
  return yield* digest(crawl, fetched.success, known, isOwn)
})

const isLoaded = ({ state }: Crawl, url: string): boolean => {
  const { canonical, hash, isGone, movedTo, run } = state.pages.get(url) ?? {}
  return run === state.run && hash !== undefined && isGone !== true && canonical === undefined && movedTo === undefined
}

/** A crawl that found nothing or stopped at its limit removes nothing, because the site may be down. */
const removeMissing = Effect.fnUntraced(function* (crawl: Crawl, isWhole: boolean) {
  const { findsAll, index, options, state, tally } = crawl
  if (!options.replace || !isWhole || tally.loaded + tally.unchanged === 0)
    return { removed: 0, gone: new Set<string>() }
  const missing = [...state.pages.values()].filter(
    ({ canonical, hash, isGone, run }) =>
      hash !== undefined && (isGone === true || (findsAll && (run !== state.run || canonical !== undefined)))
  )
  const gone = new Set(missing.map(({ url }) => url))
  return { removed: gone.size === 0 ? 0 : yield* index.remove([...gone], options.target), gone }
})

/** Reads the pages of the sitemap, or else those that links lead to. False if it stopped at the limit. */
const walk = Effect.fnUntraced(function* (crawl: Crawl, onPage: (pages: number) => Effect.Effect<void>) {
  const { isInScope, options } = crawl
  const map = yield* readMap(crawl)
  const findsAllListed = crawl.findsAll
  const follows = map.pages.length === 0
  const waiting: Array<Waiting> = (follows ? [options.address.href] : map.pages).map((url) => ({ url, depth: 0 }))
  const seen = new Set(waiting.map(({ url }) => url))
  let pages = 0
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    if (pages >= options.maxPages) return false
    const { canonical, depth, url } = next
    // The start itself may be outside `include`.
    if (!isInScope(new URL(url)) && url !== options.address.href) continue
    if (canonical !== undefined && isLoaded(crawl, canonical)) continue
    const line = yield* visit(crawl, next, map)
    yield* onPage(++pages)
    if (crawl.pending.length >= pagesAtOnce) yield* flush(crawl)
    const isDeepest = options.depth !== undefined && depth >= options.depth
    const found = [
      ...[line.movedTo, line.canonical].flatMap((to) => (to === undefined ? [] : [{ url: to, depth }])),
      ...(follows && !isDeepest ? (line.links ?? []) : []).map((link) => ({ url: link, depth: depth + 1 }))
    ]
    for (const each of found) {
      if (seen.has(each.url)) continue
      seen.add(each.url)
      waiting.push(each)
    }
    if (line.canonical !== undefined) waiting.push({ url, depth, canonical: line.canonical })
  }
  // A sitemap names all pages, so that a page that failed hides none.
  if (!follows) crawl.findsAll = findsAllListed
  return true
})

export const crawl = Effect.fnUntraced(function* (
  options: CrawlOptions,
  state: CrawlState,
  onPage: (pages: number) => Effect.Effect<void>
) {
  const run: Crawl = {
    options,
    state,
    index: yield* DocumentIndex,
    parser: yield* PageParser,
    read: yield* makeReader,
    isInScope: makeScope(options),
    pending: [],
    findsAll: true,
    tally: { loaded: 0, unchanged: 0, failed: 0, problems: [] }
  }
  const readAll = Effect.onExit(walk(run, onPage), () => Effect.orDie(flush(run)))
  const { gone, removed } = yield* run.index.whileLoading(
    Effect.flatMap(readAll, (isWhole) => removeMissing(run, isWhole))
  )
  yield* state.finish(gone)
  return { ...run.tally, removed, findsAll: run.findsAll } satisfies CrawlReport
})
