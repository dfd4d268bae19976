import { createServer } from "node:http"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, FileSystem, Layer } from "effect"
import * as CrawlState from "../../../../src/layers/index/crawl/CrawlState.ts"
import { type CrawlOptions, crawl } from "../../../../src/layers/index/crawl/SiteCrawl.ts"
import * as PageFetcherNode from "../../../../src/layers/pages/PageFetcherNode.ts"
import * as PageParserThreads from "../../../../src/layers/pages/PageParserThreads.ts"
import * as DocumentIndexSql from "../../../../src/layers/sql/index/DocumentIndexSql.ts"
import { DocumentIndex } from "../../../../src/services/index/DocumentIndex.ts"
import { searchRequest } from "../../../support/api/requests.ts"
import * as EmbeddedDatabase from "../../../support/stores/EmbeddedDatabase.ts"

interface Site {
  readonly origin: string
  /** Pages that were sent whole, in order. */
  readonly sent: Array<string>
  readonly startedAt: Array<number>
  /** The text of pages by path. A test changes it. */
  readonly texts: Map<string, string>
  sitemap: string | undefined
}

const words = "with enough words around it that anything that looks for the text of a page finds this paragraph. "

/** A site whose page `n` links to the pages `2n + 1` and `2n + 2`. */
const makeSite = (count: number) =>
  Effect.acquireRelease(
    Effect.callback<Site & { readonly close: () => void }>((resume) => {
      const pathOf = (number: number) => (number === 0 ? "/" : `/page/${number}`)
      const numbers = Array.from({ length: count }, (_, number) => number)
      const texts = new Map(numbers.map((number) => [pathOf(number), `Everything about topic${number}, ${words}`]))
      const site = { sent: [] as string[], startedAt: [] as number[], texts, sitemap: undefined as string | undefined }
      const server = createServer((request, response): unknown => {
        const path = request.url ?? "/"
        if (path === "/robots.txt") return response.end("User-agent: *\nDisallow: /private\n")
        if (path === "/sitemap.xml" && site.sitemap !== undefined) {
          response.setHeader("content-type", "application/xml")
          return response.end(site.sitemap)
        }
        if (path === "/old") return response.writeHead(301, { location: "/page/1" }).end()
        const text = texts.get(path)
        if (text === undefined) return response.writeHead(404).end()
        const number = Number(path.slice(6))
        const etag = `"${text.length}-${number}"`
        site.startedAt.push(performance.now())
        if (request.headers["if-none-match"] === etag) return response.writeHead(304).end()
        site.sent.push(path)
        const links = [2 * number + 1, 2 * number + 2].filter((to) => to < count).map(pathOf)
        const others = ["/private/a", "/old", "/logo.png", "https://elsewhere.test/", "/page/1#part", "mailto:a@b.test"]
        const anchors = [...links, ...others].map((href) => `<a href="${href}">link</a>`).join(" ")
        response.setHeader("content-type", "text/html").setHeader("etag", etag)
        return response.end(
          `<title>Page ${number}</title><nav>${anchors}</nav><main><h1>Topic</h1><p>${text}${words}</p></main>`
        )
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        const close = () => {
          server.closeAllConnections()
          server.close()
        }
        resume(Effect.succeed(Object.assign(site, { origin: `http://127.0.0.1:${port}`, close })))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

const web = Layer.merge(
  PageFetcherNode.layer({ userAgent: "Quarry/test", obeysRobots: true, allowsPrivate: true }),
  PageParserThreads.layer({ workers: 1, maxWait: Duration.seconds(15) })
)

const services = Layer.mergeAll(
  DocumentIndexSql.layer.pipe(Layer.provide(EmbeddedDatabase.layer), Layer.orDie),
  web,
  NodeServices.layer
)

const stateFile = Effect.flatMap(FileSystem.FileSystem, (files) =>
  Effect.map(files.makeTempDirectoryScoped(), (folder) => `${folder}/state.jsonl`)
)

const run = Effect.fnUntraced(function* (
  site: Site,
  file: string,
  options: Partial<CrawlOptions> = {},
  onPage: (pages: number) => Effect.Effect<void> = () => Effect.void
) {
  const all: CrawlOptions = {
    address: new URL("/", site.origin),
    maxPages: 1_000,
    depth: undefined,
    include: [],
    exclude: [],
    delay: Duration.zero,
    timeout: Duration.seconds(10),
    target: undefined,
    replace: false,
    ...options
  }
  return yield* crawl(all, yield* CrawlState.open(file), onPage)
})

const find = (query: string) =>
  Effect.flatMap(DocumentIndex, (index) =>
    Effect.map(index.search(searchRequest({ query })), ({ rows }) => rows.map(({ url }) => url))
  )

describe("crawling a site", () => {
  it.live("follows the site's links within robots.txt, and its pages are found", () =>
    Effect.gen(function* () {
      const site = yield* makeSite(40)
      const report = yield* run(site, yield* stateFile)
      assert.deepInclude(report, { loaded: 40, unchanged: 0, removed: 0, failed: 1 })
      assert.deepStrictEqual(
        report.problems.map(({ url }) => url),
        [`${site.origin}/private/a`]
      )
      assert.lengthOf(site.sent, new Set(site.sent).size + 1) // The page that /old redirects to was sent for it too.
      assert.deepStrictEqual(yield* find("topic37"), [`${site.origin}/page/37`])
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("takes the sitemap's pages, and a file of another kind counts as missing", () =>
    Effect.gen(function* () {
      const site = yield* makeSite(10)
      const locations = ["/page/3", "/page/4", "https://elsewhere.test/"].map((path) => new URL(path, site.origin).href)
      site.sitemap = `<urlset>${locations.map((url) => `<url><loc>${url}</loc></url>`).join("")}</urlset>`
      assert.deepInclude(yield* run(site, yield* stateFile), { loaded: 2, failed: 0 })
      assert.deepStrictEqual(site.sent, ["/page/3", "/page/4"])
      site.sitemap = "<html><body>Not found</body></html>"
      assert.deepInclude(yield* run(site, yield* stateFile, { depth: 1, exclude: ["/page/2", "/private"] }), {
        loaded: 2
      })
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("goes on where it was stopped, and loads no page twice", () =>
    Effect.gen(function* () {
      const site = yield* makeSite(60)
      const file = yield* stateFile
      const reached = yield* Deferred.make<void>()
      const stop = (pages: number) =>
        pages === 33 ? Effect.andThen(Deferred.succeed(reached, undefined), Effect.never) : Effect.void
      const fiber = yield* Effect.forkChild(run(site, file, { exclude: ["/old"] }, stop))
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(fiber)
      const before = site.sent.length
      assert.isBelow(before, 40)
      const report = yield* run(site, file, { exclude: ["/old"] })
      assert.strictEqual(site.sent.length, 60)
      assert.strictEqual(new Set(site.sent).size, 60)
      assert.strictEqual(report.loaded, 60 - before)
      assert.strictEqual((yield* Effect.flatMap(DocumentIndex, (index) => index.stats)).documents, 60)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("reads only what changed, writes no page with the same text, and removes what is gone if told to", () =>
    Effect.gen(function* () {
      const site = yield* makeSite(20)
      const file = yield* stateFile
      yield* run(site, file, { exclude: ["/old", "/private"] })
      site.sent.length = 0
      site.texts.set("/page/5", `Now about zeppelins, ${words}`)
      site.texts.delete("/page/19")
      const kept = yield* run(site, file, { exclude: ["/old", "/private"] })
      assert.deepInclude(kept, { loaded: 1, unchanged: 18, removed: 0, failed: 1 })
      assert.deepStrictEqual(site.sent, ["/page/5"])
      assert.deepStrictEqual(yield* find("zeppelins"), [`${site.origin}/page/5`])
      assert.lengthOf(yield* find("topic19"), 1)
      const replaced = yield* run(site, file, { exclude: ["/old", "/private"], replace: true })
      assert.deepInclude(replaced, { loaded: 0, unchanged: 19, removed: 1 })
      assert.deepStrictEqual(yield* find("topic19"), [])
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("keeps the rate that it was asked for, and stops after so many pages", () =>
    Effect.gen(function* () {
      const site = yield* makeSite(30)
      yield* run(site, yield* stateFile, { delay: Duration.millis(60), maxPages: 8, exclude: ["/old", "/private"] })
      assert.lengthOf(site.sent, 8)
      const gaps = site.startedAt.slice(1).map((time, index) => time - (site.startedAt[index] ?? 0))
      assert.isAbove(Math.min(...gaps), 50)
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})
