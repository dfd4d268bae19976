import { createHash } from "node:crypto"
import { Clock, Duration, Effect, Result, Stream } from "effect"
import { pageOnHost } from "../../../domain/pages/links.ts"
import type { ParsedPage } from "../../../domain/pages/Page.ts"
import { allowsPage, type RobotsRules } from "../../../domain/pages/robots.ts"
import { unreadableMessages } from "../../../domain/pages/UnreadableReason.ts"
import type { Target } from "../../../domain/search/Target.ts"
import { type Document, DocumentIndex } from "../../../services/index/DocumentIndex.ts"
import { type FetchedPage, PageFetcher } from "../../../services/pages/PageFetcher.ts"
import { PageParser } from "../../../services/pages/PageParser.ts"
import type { CrawlState, PageLine } from "./CrawlState.ts"
import { isNotIndexed, linksIn, readSitemap, sitemapsIn } from "./markup.ts"

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
}

/** After a kill, the next crawl reads at most this many pages again. */
const pagesAtOnce = 25

const maxProblems = 100
const maxSitemaps = 50
const maxDescription = 300

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
    ...languageOf(page)
  }
}

const hashOf = (document: Document): string => createHash("sha256").update(JSON.stringify(document)).digest("hex")

const makeReader = Effect.gen(function* () {
  const fetcher = yield* PageFetcher
  let nextAt = 0
  return Effect.fnUntraced(function* (url: URL, { delay, timeout }: CrawlOptions, known?: PageLine) {
    const now = yield* Clock.currentTimeMillis
    if (nextAt > now) yield* Effect.sleep(nextAt - now)
    nextAt = (yield* Clock.currentTimeMillis) + Duration.toMillis(delay)
    return yield* Effect.result(fetcher.fetch(url, crawler, timeout, known))
  })
})

type Read = Effect.Success<typeof makeReader>

/** Empty if the site has no sitemap. */
const fromSitemaps = Effect.fnUntraced(function* (read: Read, options: CrawlOptions) {
  const { address } = options
  const robots = yield* read(new URL("/robots.txt", address), options)
  const named = Result.isSuccess(robots) ? sitemapsIn(robots.success.bytes) : []
  const waiting = [...(named.length > 0 ? named : ["/sitemap.xml"])]
  const seen = new Set<string>()
  const pages = new Set<string>()
  for (let next = waiting.shift(); next !== undefined && seen.size < maxSitemaps; next = waiting.shift()) {
    const url = URL.parse(next, address.href)
    if (url === null || url.host !== address.host || seen.has(url.href)) continue
    seen.add(url.href)
    const fetched = yield* read(url, options)
    const sitemap = Result.isSuccess(fetched) ? readSitemap(fetched.success.bytes) : undefined
    if (sitemap === undefined) continue
    if (sitemap.isIndex) waiting.push(...sitemap.locations)
    else for (const location of sitemap.locations) pages.add(pageOnHost(location, address) ?? "")
  }
  pages.delete("")
  return [...pages]
})

interface Waiting {
  readonly url: string
  readonly depth: number
}

interface Crawl {
  readonly options: CrawlOptions
  readonly state: CrawlState
  readonly index: DocumentIndex["Service"]
  readonly parser: PageParser["Service"]
  readonly read: Read
  pending: Array<{ readonly line: PageLine; readonly document: Document | undefined }>
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

const versionOf = ({ etag, lastModified }: FetchedPage) => ({
  ...(etag === undefined ? {} : { etag }),
  ...(lastModified === undefined ? {} : { lastModified })
})

const inIndex = (known: PageLine | undefined) => (known?.hash === undefined ? {} : { hash: known.hash })

const digest = Effect.fnUntraced(function* (crawl: Crawl, fetched: FetchedPage, known: PageLine | undefined) {
  const { finalUrl: url } = fetched
  const isHtml = !/json|pdf/i.test(fetched.contentType ?? "")
  // Must precede parsing, because the parser takes ownership of the bytes.
  const links = isHtml ? linksIn(fetched.bytes, url) : []
  const isHidden = isHtml && isNotIndexed(fetched.bytes)
  const line = { url, run: crawl.state.run, links, ...versionOf(fetched) }
  if (isHidden) return { line: { ...line, ...inIndex(known), isGone: true }, document: undefined }
  const document = { bytes: fetched.bytes, contentType: fetched.contentType, url, accountId: crawler }
  const parsed = yield* Effect.result(crawl.parser.parse(document))
  if (Result.isFailure(parsed)) {
    fail(crawl, url, unreadableMessages[parsed.failure.reason])
    return { line: { ...line, ...inIndex(known) }, document: undefined }
  }
  const made = toDocument(url, parsed.success)
  const hash = hashOf(made)
  if (hash !== known?.hash) return { line: { ...line, hash }, document: made }
  crawl.tally.unchanged++
  return { line: { ...line, hash }, document: undefined }
})

interface Visited {
  readonly links: ReadonlyArray<string>
  readonly movedTo?: string | undefined
}

const visit = Effect.fnUntraced(function* (crawl: Crawl, url: string): Effect.fn.Return<Visited> {
  const { options, state } = crawl
  const known = state.pages.get(url)
  if (known?.run === state.run) return { links: known.links ?? [], movedTo: known.movedTo }
  const fetched = yield* crawl.read(new URL(url), options, known?.hash === undefined ? undefined : known)
  if (Result.isFailure(fetched)) {
    const { httpStatus, message, reason } = fetched.failure
    if (httpStatus === 304 && known !== undefined) {
      crawl.tally.unchanged++
      crawl.pending.push({ line: { ...known, run: state.run }, document: undefined })
      return { links: known.links ?? [] }
    }
    fail(crawl, url, message)
    const isGone = reason === "not_found" || reason === "robots_disallowed"
    crawl.pending.push({ line: { url, run: state.run, ...inIndex(known), isGone }, document: undefined })
    return { links: [] }
  }
  const { finalUrl } = fetched.success
  if (finalUrl === url) {
    const page = yield* digest(crawl, fetched.success, known)
    crawl.pending.push(page)
    return { links: page.line.links }
  }
  const to = pageOnHost(finalUrl, options.address)
  const movedTo = to === undefined ? {} : { movedTo: to }
  crawl.pending.push({ line: { url, run: state.run, ...movedTo }, document: undefined })
  if (to === undefined) fail(crawl, url, "It redirects to another site.")
  return { links: [], ...movedTo }
})

/** A crawl that found nothing or stopped at its limit removes nothing, because the site may be down. */
const removeMissing = Effect.fnUntraced(function* ({ index, options, state, tally }: Crawl, isWhole: boolean) {
  if (!options.replace || !isWhole || tally.loaded + tally.unchanged === 0)
    return { removed: 0, gone: new Set<string>() }
  const missing = [...state.pages.values()].filter(
    ({ hash, isGone, run }) => hash !== undefined && (run !== state.run || isGone === true)
  )
  const gone = new Set(missing.map(({ url }) => url))
  return { removed: gone.size === 0 ? 0 : yield* index.remove([...gone], options.target), gone }
})

export const crawl = Effect.fnUntraced(function* (
  options: CrawlOptions,
  state: CrawlState,
  onPage: (pages: number) => Effect.Effect<void>
) {
  const read = yield* makeReader
  const tally: Crawl["tally"] = { loaded: 0, unchanged: 0, failed: 0, problems: [] }
  const run: Crawl = {
    options,
    state,
    index: yield* DocumentIndex,
    parser: yield* PageParser,
    read,
    pending: [],
    tally
  }
  const isInScope = makeScope(options)
  const walk = Effect.gen(function* () {
    const listed = yield* fromSitemaps(read, options)
    const follows = listed.length === 0
    const waiting: Array<Waiting> = (follows ? [options.address.href] : listed).map((url) => ({ url, depth: 0 }))
    const seen = new Set(waiting.map(({ url }) => url))
    let pages = 0
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (pages >= options.maxPages) return false
      const { depth, url } = next
      // The start itself may be outside `include`.
      if (!isInScope(new URL(url)) && url !== options.address.href) continue
      const { links, movedTo } = yield* visit(run, url)
      yield* onPage(++pages)
      if (run.pending.length >= pagesAtOnce) yield* flush(run)
      const isDeepest = options.depth !== undefined && depth >= options.depth
      const found = [
        ...(movedTo === undefined ? [] : [{ url: movedTo, depth }]),
        ...(follows && !isDeepest ? links.map((link) => ({ url: link, depth: depth + 1 })) : [])
      ]
      for (const each of found) {
        if (seen.has(each.url)) continue
        seen.add(each.url)
        waiting.push(each)
      }
    }
    return true
  })
  const isWhole = yield* Effect.onExit(walk, () => Effect.orDie(flush(run)))
  const { gone, removed } = yield* removeMissing(run, isWhole)
  yield* state.finish(gone)
  return { ...tally, removed } satisfies CrawlReport
})
