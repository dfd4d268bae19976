import { gzipSync } from "node:zlib"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, FileSystem, Layer, Stream } from "effect"
import * as fc from "fast-check"
import { PageUnreadable } from "../../../../src/domain/errors.ts"
import { ParseFailure } from "../../../../src/domain/pages/Page.ts"
import { allowsPage, parseRobots } from "../../../../src/domain/pages/robots.ts"
import type { UnreadableReason } from "../../../../src/domain/UnreadableReason.ts"
import * as CrawlState from "../../../../src/layers/index/crawl/CrawlState.ts"
import { type CrawlOptions, crawl } from "../../../../src/layers/index/crawl/SiteCrawl.ts"
import { type Document, DocumentIndex } from "../../../../src/services/index/DocumentIndex.ts"
import { PageFetcher } from "../../../../src/services/pages/PageFetcher.ts"
import { PageParser } from "../../../../src/services/pages/PageParser.ts"
import { wholeStackRuns } from "../../../support/wholeStackRuns.ts"

const origin = "https://site.test"

interface File {
  readonly body: string | Uint8Array
  readonly robotsTags?: ReadonlyArray<string>
  readonly published?: string
}

type Fault = UnreadableReason | { readonly to: string } | "unparsable"

interface Site {
  readonly files: Map<string, File>
  /** Decides for each request, by path, whether it fails. */
  fault: (path: string) => Fault | undefined
  readonly documents: Map<string, Document>
}

const makeSite = (): Site => ({ files: new Map(), fault: () => undefined, documents: new Map() })

const statuses: Partial<Record<UnreadableReason, number>> = { not_found: 404, forbidden: 429, site_error: 503 }

const failure = (reason: UnreadableReason) => Effect.fail(PageUnreadable.because(reason, statuses[reason]))

/** The services of a crawl on tables, with robots.txt obeyed as the fetcher does. */
const services = (site: Site) => {
  const unparsable = new Set<string>()
  const robots = () => parseRobots(String(site.files.get("/robots.txt")?.body ?? ""))
  const fetch = (url: URL) => {
    const path = `${url.pathname}${url.search}`
    const fault = site.fault(path)
    if (typeof fault === "object") return Effect.succeed({ path: fault.to, url: new URL(fault.to, url) })
    if (fault === "unparsable") unparsable.add(url.href)
    else if (fault !== undefined) return failure(path === "/robots.txt" ? "robots_disallowed" : fault)
    return allowsPage(robots(), url) ? Effect.succeed({ path, url }) : failure("robots_disallowed")
  }
  return Layer.mergeAll(
    Layer.succeed(PageFetcher, {
      fetch: (url) =>
        Effect.flatMap(fetch(url), ({ path, url: { href } }) => {
          const file = site.files.get(path)
          if (file === undefined) return failure("not_found")
          const bytes = typeof file.body === "string" ? new TextEncoder().encode(file.body) : file.body
          const robotsTags = file.robotsTags ?? []
          return Effect.succeed({ finalUrl: href, status: 200, contentType: "text/html", bytes, robotsTags })
        })
    }),
    Layer.succeed(PageParser, {
      parse: ({ bytes, url }) => {
        if (unparsable.delete(url)) return Effect.fail(new ParseFailure({ reason: "too_large" }))
        const text = new TextDecoder().decode(bytes)
        const { pathname, search } = new URL(url)
        const published = site.files.get(`${pathname}${search}`)?.published ?? null
        const unknown = { description: null, author: null, siteName: null, language: null, links: [] }
        return Effect.succeed({ ...unknown, title: url, published, mediaType: "text/html", markdown: text, text })
      }
    }),
    Layer.mock(DocumentIndex, {
      whileLoading: (work) => work,
      load: (documents) =>
        Stream.runForEach(documents, (document) => Effect.sync(() => site.documents.set(document.url, document))).pipe(
          Effect.as({ written: 0, removed: 0 })
        ),
      remove: (urls) => Effect.sync(() => urls.filter((url) => site.documents.delete(url)).length)
    }),
    NodeServices.layer
  )
}

const options: CrawlOptions = {
  address: new URL(origin),
  maxPages: 1_000,
  depth: undefined,
  include: [],
  exclude: [],
  delay: Duration.zero,
  timeout: Duration.seconds(10),
  target: undefined,
  replace: true
}

const crawling = <A, E>(
  site: Site,
  use: (
    run: (changed?: Partial<CrawlOptions>) => Effect.Effect<Effect.Success<ReturnType<typeof crawl>>>
  ) => Effect.Effect<A, E>
) =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const file = `${yield* files.makeTempDirectoryScoped()}/state.jsonl`
    const context = yield* Effect.context<FileSystem.FileSystem | PageFetcher | PageParser | DocumentIndex>()
    return yield* use((changed = {}) =>
      Effect.flatMap(CrawlState.open(file), (state) =>
        crawl({ ...options, ...changed }, state, () => Effect.void)
      ).pipe(Effect.provide(context), Effect.provide(NodeServices.layer), Effect.orDie)
    )
  }).pipe(Effect.scoped, Effect.provide(services(site)))

const page = (...links: ReadonlyArray<string>): File => ({
  body: links.map((href) => `<a href="${href}">link</a>`).join("")
})

const sitemap = (...paths: ReadonlyArray<string>): File => ({
  body: `<urlset>${paths.map((path) => `<url><loc>${origin}${path}</loc></url>`).join("")}</urlset>`
})

const sitemapIndex = (...paths: ReadonlyArray<string>): File => ({
  body: `<sitemapindex>${paths.map((path) => `<sitemap><loc>${origin}${path}</loc></sitemap>`).join("")}</sitemapindex>`
})

const loaded = (site: Site) => [...site.documents.keys()].map((url) => url.slice(origin.length)).sort()

/** A fault for the first request of a path. */
const once = (path: string, fault: Fault): Site["fault"] => {
  let isDue = true
  return (requested) => {
    if (requested !== path || !isDue) return undefined
    isDue = false
    return fault
  }
}

const tree = (): Site => {
  const site = makeSite()
  site.files.set("/", page("/hub", "/a")).set("/hub", page("/b", "/c")).set("/a", page()).set("/b", page())
  site.files.set("/c", page())
  return site
}

describe("R84: what a crawl removes", () => {
  const passing: ReadonlyArray<readonly [name: string, site: () => Site, path: string]> = [
    ["a page with links to others", tree, "/hub"],
    ["the start", tree, "/"],
    [
      "robots.txt",
      () => {
        const site = tree()
        site.files.set("/robots.txt", { body: "Sitemap: /all.xml" }).set("/all.xml", sitemap("/", "/hub", "/a", "/b"))
        return site
      },
      "/robots.txt"
    ],
    [
      "/sitemap.xml",
      () => {
        const site = tree()
        site.files.set("/", page()).set("/sitemap.xml", sitemap("/", "/hub", "/a", "/b", "/c"))
        return site
      },
      "/sitemap.xml"
    ],
    [
      "one of several sitemaps",
      () => {
        const site = tree()
        site.files.set("/sitemap.xml", sitemapIndex("/1.xml", "/2.xml"))
        site.files.set("/1.xml", sitemap("/", "/a")).set("/2.xml", sitemap("/hub", "/b", "/c"))
        return site
      },
      "/2.xml"
    ]
  ]
  for (const [name, make, path] of passing) {
    for (const fault of ["site_error", "timed_out", "forbidden", "unreachable"] as const) {
      it.effect(`no page after a passing ${fault} of ${name}, which is listed`, () => {
        const site = make()
        return crawling(site, (run) =>
          Effect.gen(function* () {
            yield* run()
            const before = loaded(site)
            site.fault = once(path, fault)
            const report = yield* run()
            assert.includeMembers(loaded(site), before)
            assert.include(
              report.problems.map(({ url }) => url),
              `${origin}${path}`
            )
            assert.isFalse(report.findsAll)
          })
        )
      })
    }
  }

  it.effect("no page while a page with links redirects to a notice", () => {
    const site = tree()
    site.files.set("/notice", page())
    return crawling(site, (run) =>
      Effect.gen(function* () {
        yield* run()
        site.fault = once("/hub", { to: "/notice" })
        assert.strictEqual((yield* run()).removed, 0)
        assert.includeMembers(loaded(site), ["/hub", "/b", "/c"])
      })
    )
  })

  it.effect("no page after a sitemap that ends early or became a page for people", () => {
    const site = tree()
    const whole = sitemap("/", "/a", "/b")
    site.files.set("/robots.txt", { body: "Sitemap: /all.xml" }).set("/all.xml", whole)
    return crawling(site, (run) =>
      Effect.gen(function* () {
        yield* run()
        for (const body of [String(whole.body).slice(0, 80), "<html><body>Back soon</body></html>"]) {
          site.files.set("/all.xml", { body })
          const report = yield* run()
          assert.deepStrictEqual([report.removed, report.findsAll], [0, false])
          assert.include(
            report.problems.map(({ url }) => url),
            `${origin}/all.xml`
          )
        }
      })
    )
  })

  it.effect("pages that are gone, excluded or no longer linked", () => {
    const site = tree()
    site.files
      .set("/hub", page("/b", "/c", "/d", "/e"))
      .set("/d", page())
      .set("/e", page())
    return crawling(site, (run) =>
      Effect.gen(function* () {
        yield* run()
        assert.lengthOf(loaded(site), 7)
        site.files.delete("/a")
        site.files.set("/robots.txt", { body: "User-agent: *\nDisallow: /b" })
        site.files.set("/c", { ...page(), robotsTags: ["noindex"] })
        site.files.set("/hub", page("/b", "/c", "/d"))
        const report = yield* run()
        assert.deepInclude(report, { removed: 4, findsAll: true })
        assert.deepStrictEqual(loaded(site), ["/", "/d", "/hub"])
      })
    )
  })

  it.effect("pages that are gone, even if other pages could not be read", () => {
    const site = tree()
    return crawling(site, (run) =>
      Effect.gen(function* () {
        yield* run()
        site.files.delete("/a")
        site.fault = once("/hub", "site_error")
        assert.deepInclude(yield* run(), { removed: 1, findsAll: false })
        assert.deepStrictEqual(loaded(site), ["/", "/b", "/c", "/hub"])
      })
    )
  })

  it.effect("no page because of a link that never leads to a page for programs", () => {
    const site = tree()
    site.files.set("/", page("/hub", "/a", "/sign-in", "/archive"))
    site.fault = (path) =>
      path === "/sign-in" ? "robots_disallowed" : path === "/archive" ? "unsupported_media_type" : undefined
    return crawling(site, (run) =>
      Effect.gen(function* () {
        yield* run()
        site.files.set("/hub", page("/b"))
        assert.deepInclude(yield* run(), { removed: 1, findsAll: true })
      })
    )
  })
})

const pageCount = 200
const pathOf = (number: number) => (number === 0 ? "/" : `/page/${number}`)

/** A tree of pages in which page n links to 2n + 1 and 2n + 2, and a few cross each other. */
const largeSite = (hasSitemap: boolean): Site => {
  const site = makeSite()
  const numbers = Array.from({ length: pageCount }, (_, number) => number)
  for (const number of numbers) {
    const links = [2 * number + 1, 2 * number + 2, (number * 7) % pageCount].filter((to) => to < pageCount)
    site.files.set(pathOf(number), page(...links.map(pathOf)))
  }
  if (!hasSitemap) return site
  site.files.set("/sitemap.xml", sitemapIndex("/map/0.xml", "/map/1.xml", "/map/2.xml"))
  for (const part of [0, 1, 2]) {
    site.files.set(`/map/${part}.xml`, sitemap(...numbers.filter((number) => number % 3 === part).map(pathOf)))
  }
  return site
}

const faults = fc.constantFrom<Fault>(
  "site_error",
  "forbidden",
  "timed_out",
  "unreachable",
  "too_large",
  "unparsable",
  { to: "/page/1" }
)

const faultyCrawl = (
  hasSitemap: boolean,
  draws: ReadonlyArray<readonly [draw: number, fault: Fault]>,
  deleted: ReadonlyArray<number>
) => {
  const site = largeSite(hasSitemap)
  return crawling(site, (run) =>
    Effect.gen(function* () {
      yield* run()
      assert.lengthOf(loaded(site), pageCount)
      for (const number of deleted) site.files.delete(pathOf(number))
      const failed = new Set<string>()
      let requests = 0
      site.fault = (path) => {
        const [draw, fault] = draws[requests++ % draws.length] ?? []
        if (draw !== 0 || fault === undefined) return undefined
        if (fault === "unparsable" && !path.startsWith("/page/")) return undefined
        // A missing sitemap that nobody named is not a fault of the site.
        if (typeof fault === "string" && site.files.has(path)) failed.add(`${origin}${path}`)
        return fault
      }
      const report = yield* run()
      const exists = [...site.files.keys()].filter((path) => !path.endsWith(".xml"))
      assert.includeMembers(loaded(site), exists)
      assert.includeMembers(
        report.problems.map(({ url }) => url),
        [...failed]
      )
      site.fault = () => undefined
      yield* run()
      assert.deepStrictEqual(loaded(site), exists.sort())
    })
  )
}

describe("R84: a crawl of 200 pages in which every fifth request fails", () => {
  it("removes no page that still exists, lists every fault, and is exact after a crawl without faults", () =>
    fc.assert(
      fc.asyncProperty(
        fc.boolean(),
        fc.array(fc.tuple(fc.integer({ min: 0, max: 4 }), faults), { minLength: 300, maxLength: 300 }),
        fc.uniqueArray(fc.integer({ min: 100, max: pageCount - 1 }), { maxLength: 10 }),
        (hasSitemap, draws, deleted) => Effect.runPromise(faultyCrawl(hasSitemap, draws, deleted))
      ),
      { numRuns: wholeStackRuns }
    ))
})

describe("what a crawl loads", () => {
  it.effect("the pages of sitemaps in gzip, and no sitemap is skipped without a word", () => {
    const site = tree()
    const { body } = sitemap("/a", "/b")
    site.files.set("/robots.txt", {
      body: "Sitemap: /map.xml.gz\nSitemap: https://cdn.test/map.xml\nSitemap: /lost.xml"
    })
    site.files.set("/map.xml.gz", { body: gzipSync(body) })
    return crawling(site, (run) =>
      Effect.map(run(), ({ problems }) => {
        assert.deepStrictEqual(loaded(site), ["/a", "/b"])
        assert.deepStrictEqual(
          problems.map(({ url }) => url),
          ["https://cdn.test/map.xml", `${origin}/lost.xml`]
        )
      })
    )
  })

  it.effect("no page that asks not to be indexed, in its header or in its markup", () => {
    const site = makeSite()
    const tagged = (...robotsTags: ReadonlyArray<string>): File => ({ ...page("/next"), robotsTags })
    const marked = (name: string, content: string): File => ({
      body: `<meta name="${name}" content="${content}"><a href="/next">next</a>`
    })
    site.files.set("/", page("/1", "/2", "/3", "/4", "/5"))
    site.files.set("/1", tagged("noindex, nofollow")).set("/2", tagged("googlebot: noindex, nofollow", "nofollow"))
    site.files.set("/3", marked("ROBOTS", "NONE")).set("/4", marked("robots", "nofollow, max-image-preview:none"))
    site.files.set("/5", marked("googlebot", "noindex")).set("/next", page())
    return crawling(site, (run) =>
      Effect.gen(function* () {
        yield* run()
        assert.deepStrictEqual(loaded(site), ["/", "/2", "/4", "/5", "/next"])
        site.files.set("/5", page())
        yield* run()
        assert.deepStrictEqual(loaded(site), ["/", "/2", "/4", "/5"])
      })
    )
  })

  it.effect("the date of a page, also for a page that did not change since an older version loaded it", () => {
    const site = makeSite()
    site.files.set("/", { ...page("/a"), published: "2026-03-04T05:06:07+02:00" }).set("/a", page())
    return crawling(site, (run) =>
      Effect.map(run(), () => {
        assert.strictEqual(site.documents.get(`${origin}/`)?.published, "2026-03-04T03:06:07Z")
        assert.isUndefined(site.documents.get(`${origin}/a`)?.published)
      })
    )
  })

  const canonical = (href: string, ...links: ReadonlyArray<string>): File => ({
    body: `<link rel="canonical" href="${href}">${page(...links).body}`
  })

  it.effect("one document for the addresses of a page with a canonical address", () => {
    const site = makeSite()
    site.files.set("/", page("/a?ref=1", "/a", "/b?x=1", "/c", "/d"))
    site.files
      .set("/a?ref=1", canonical("/a"))
      .set("/a", canonical(`${origin}/a`))
      .set("/b?x=1", canonical("/b"))
    site.files.set("/c", canonical("https://elsewhere.test/c")).set("/d", canonical("/e")).set("/e", canonical("/d"))
    return crawling(site, (run) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* run()).loaded, 5)
        // The canonical address of /b?x=1 is not found, and those of /d and /e name each other.
        assert.deepStrictEqual(loaded(site), ["/", "/a", "/b?x=1", "/c", "/d"])
        assert.deepInclude(yield* run(), { loaded: 0, unchanged: 5, removed: 0 })
      })
    )
  })

  it.effect("no second document after a page states a canonical address", () => {
    const site = makeSite()
    site.files.set("/", page("/a?ref=1", "/a")).set("/a?ref=1", page()).set("/a", page())
    return crawling(site, (run) =>
      Effect.gen(function* () {
        yield* run()
        assert.deepStrictEqual(loaded(site), ["/", "/a", "/a?ref=1"])
        site.files.set("/a?ref=1", canonical("/a"))
        yield* run()
        assert.deepStrictEqual(loaded(site), ["/", "/a"])
      })
    )
  })
})
