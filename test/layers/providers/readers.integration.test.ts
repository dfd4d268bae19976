import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, FileSystem, Layer, Logger, Result } from "effect"
import type { AccountPrincipal } from "../../../src/domain/accounts/Principal.ts"
import { PageUnreadable } from "../../../src/domain/errors.ts"
import * as PacerMemory from "../../../src/layers/memory/PacerMemory.ts"
import * as PageCacheMemory from "../../../src/layers/memory/PageCacheMemory.ts"
import { readers } from "../../../src/layers/providers/ProviderFile.ts"
import { UpstreamClient } from "../../../src/layers/providers/UpstreamClient.ts"
import { QueryLog } from "../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { PageFetcher } from "../../../src/services/pages/PageFetcher.ts"
import { PageParser } from "../../../src/services/pages/PageParser.ts"
import { PageReader, toPageEntry } from "../../../src/services/pages/PageReader.ts"
import { PageReaders } from "../../../src/services/pages/PageReaders.ts"
import { PageSettings } from "../../../src/services/pages/PageSettings.ts"
import { aCaller, found, providing, services } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"

interface Seen {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage["headers"]
  readonly body: unknown
}

type Answer = (response: ServerResponse) => void

const json =
  (body: unknown, status = 200): Answer =>
  (response) => {
    response.writeHead(status, { "content-type": "application/json" })
    response.end(JSON.stringify(body))
  }

/** A service on a real socket that keeps what it was asked. */
const service = (answer: Answer) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<{ readonly url: string; readonly seen: Array<Seen>; readonly close: () => void }>((resolve) => {
          const seen: Array<Seen> = []
          const server = createServer((request, response) => {
            let text = ""
            request.on("data", (chunk) => (text += chunk))
            request.on("end", () => {
              const { headers, method, url } = request
              seen.push({ method, url, headers, body: text === "" ? undefined : JSON.parse(text) })
              answer(response)
            })
          })
          server.listen(0, "127.0.0.1", () => {
            const address = server.address()
            const port = typeof address === "object" && address !== null ? address.port : 0
            const close = () => {
              server.closeAllConnections()
              server.close()
            }
            resolve({ url: `http://127.0.0.1:${port}`, seen, close })
          })
        })
    ),
    ({ close }) => Effect.sync(close)
  )

const upstream = Layer.mergeAll(UpstreamClient.layer, PacerMemory.layer, NodeServices.layer)

const environment = ConfigProvider.layer(ConfigProvider.fromEnv({ env: { READER_KEY: "key-hunter2" } }))

/** The readers of a provider file. */
const readersOf = Effect.fnUntraced(function* (file: object, allowsPrivate = true) {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  yield* fs.writeFileString(`${folder}/providers.json`, JSON.stringify({ targets: {}, ...file }))
  return yield* readers(`${folder}/providers.json`, { allowsPrivate })
})

const page = new URL("http://127.0.0.1:1/page?q=1")

const firstOf = (file: object, allowsPrivate?: boolean) =>
  Effect.map(readersOf(file, allowsPrivate), ([reader]) =>
    reader === undefined || reader === "direct" ? assert.fail("no reader") : reader
  )

const answers = {
  firecrawl: {
    success: true,
    data: {
      markdown: "# T\n\nHi\u200b **you**",
      metadata: { title: ["T", "U"], url: "https://a.test/", statusCode: 200 }
    }
  },
  jina: { code: 200, status: 20000, data: { title: "T", url: "https://a.test/", content: "# T\n\nHi\u200b **you**" } },
  tavily: { results: [{ url: page.href, raw_content: "# T\n\nHi\u200b **you**" }], failed_results: [] },
  exa: { results: [{ url: "https://a.test/", title: "T", text: "# T\n\nHi\u200b **you**" }], statuses: [] }
} as const

const requests = {
  firecrawl: ["/v2/scrape", "authorization", "Bearer key-hunter2"],
  jina: ["/", "authorization", "Bearer key-hunter2"],
  tavily: ["/extract", "authorization", "Bearer key-hunter2"],
  exa: ["/contents", "x-api-key", "key-hunter2"]
} as const

const fileOf = (type: string, url: string) => ({
  providers: { other: { type, url, apiKey: `\${READER_KEY}` } },
  pages: [{ provider: "other" }]
})

describe.each(["firecrawl", "jina", "tavily", "exa"] as const)("a reader of type %s", (type) => {
  it.live("sends its published request, and its text has nothing that a person cannot see", () =>
    Effect.gen(function* () {
      const { seen, url } = yield* service(json(answers[type]))
      const reader = yield* firstOf(fileOf(type, url))
      const copy = yield* reader.read(page, Duration.seconds(5))
      assert.deepInclude(copy.page, { markdown: "# T\n\nHi **you**", text: "T\n\nHi you" })
      assert.strictEqual(copy.reader, "other")
      const [path, header, value] = requests[type]
      assert.deepInclude(seen[0], { method: "POST", url: path })
      assert.strictEqual(seen[0]?.headers[header], value)
      assert.include(JSON.stringify(seen[0]?.body), page.href)
    }).pipe(Effect.scoped, Effect.provide([upstream, environment]))
  )

  it.live("is a failure if it is down, late, too large or not as documented, and is reported without its key", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const bad: ReadonlyArray<readonly [Answer, string]> = [
        [json({ error: "boom" }, 500), "upstream_error"],
        [json({ nothing: true }), "upstream_error"],
        [(response) => response.destroy(), "upstream_error"],
        [(response) => response.end("x".repeat(3_000_000)), "upstream_error"],
        [() => {}, "upstream_timeout"]
      ]
      for (const [answer, code] of bad) {
        const { url } = yield* service(answer)
        const reader = yield* firstOf(fileOf(type, url))
        const failure = yield* Effect.flip(reader.read(page, Duration.millis(400)))
        assert.strictEqual(failure._tag, code)
      }
      assert.isAbove(lines.length, 3)
      assert.notInclude(lines.join(), "hunter2")
      assert.notInclude(lines.join(), page.href)
    }).pipe(
      Effect.scoped,
      Effect.provide([upstream, environment]),
      Effect.provide(Logger.layer([Logger.map(Logger.formatJson, (line) => void lines.push(line))]))
    )
  })

  it.live("R59: gets no address that Quarry itself would not fetch", () =>
    Effect.gen(function* () {
      const { seen, url } = yield* service(json(answers[type]))
      const reader = yield* firstOf(fileOf(type, url), false)
      for (const address of [
        "http://127.0.0.1/",
        "http://169.254.169.254/",
        "http://localhost/",
        "http://8.8.8.8:22/"
      ]) {
        const failure = yield* Effect.flip(reader.read(new URL(address), Duration.seconds(5)))
        assert.deepInclude(failure, { _tag: "page_unreadable", reason: "address_not_allowed" })
      }
      assert.deepStrictEqual(seen, [])
    }).pipe(Effect.scoped, Effect.provide([upstream, environment]))
  )
})

describe("the list of readers", () => {
  const principal = { _tag: "key", account: { id: "acc_1" }, key: { id: "key_1" } } as unknown as AccountPrincipal

  const noMetadata = {
    description: null,
    author: null,
    siteName: null,
    published: null,
    language: null,
    mediaType: "text/html"
  }

  /** What Quarry itself makes of a page, by its path. */
  const web = Layer.merge(
    Layer.succeed(PageFetcher, {
      fetch: (url) => {
        const reason = url.pathname.slice(1)
        return reason === "ok"
          ? Effect.succeed({ finalUrl: url.href, status: 200, contentType: "text/html", bytes: new Uint8Array(3) })
          : Effect.fail(PageUnreadable.because(reason as "forbidden"))
      }
    }),
    Layer.succeed(PageParser, {
      parse: () => Effect.succeed({ ...noMetadata, title: "own", markdown: "own", text: "own", links: [] })
    })
  )

  const readWith = Effect.fnUntraced(function* (file: object, path: string) {
    const list = yield* readersOf(file)
    const reader = PageReader.layer.pipe(
      Layer.provide([web, PageCacheMemory.layer, Layer.succeed(PageReaders, list)]),
      Layer.provide(
        Layer.succeed(PageSettings, { isOn: true, timeout: Duration.seconds(1), cacheTtl: Duration.hours(1) })
      )
    )
    return yield* Effect.gen(function* () {
      const request = { url: `http://127.0.0.1/${path}` } as never
      const reading = yield* (yield* PageReader).read(principal, request)
      const place = { id: "pag_1", batchId: undefined, rowIndex: undefined, requestId: undefined }
      return { reading, entry: toPageEntry(principal, request, place, reading) }
    }).pipe(Effect.provide(reader))
  })

  it.live("the next reader runs after forbidden, no_text and failures, and after nothing else", () =>
    Effect.gen(function* () {
      const up = yield* service(json(answers.firecrawl))
      const down = yield* service(json({}, 500))
      const providers = {
        fire: { type: "firecrawl", url: up.url },
        down: { type: "jina", url: down.url }
      }
      const both = { providers, pages: [{ provider: "direct" }, { provider: "down" }, { provider: "fire" }] }
      for (const [path, by] of [
        ["ok", "direct"],
        ["forbidden", "fire"],
        ["no_text", "fire"]
      ] as const) {
        const { entry, reading } = yield* readWith(both, path)
        assert.isTrue(Result.isSuccess(reading.copy), path)
        assert.deepInclude(entry, { provider: by, credits: 1, outcome: "ok" })
      }
      const asked = up.seen.length
      for (const reason of ["not_found", "too_large", "address_not_allowed", "robots_disallowed", "timed_out"]) {
        const { entry } = yield* readWith(both, reason)
        assert.deepInclude(entry, { credits: 0, outcome: "page_unreadable" })
        assert.strictEqual(entry.page?.reason, reason)
      }
      assert.strictEqual(up.seen.length, asked)
      const last = { providers, pages: [{ provider: "direct" }, { provider: "down" }] }
      const { entry } = yield* readWith(last, "forbidden")
      assert.deepInclude(entry, { credits: 0, outcome: "upstream_error", provider: undefined })
    }).pipe(Effect.scoped, Effect.provide([upstream, environment]), Effect.provide(Logger.layer([])))
  )

  it.live("R76: a page for which no reader is asked is free, not logged, and says so, alone and in a batch", () =>
    Effect.gen(function* () {
      const { seen, url } = yield* service(json({ code: 402, message: "Insufficient balance" }, 402))
      const list = yield* readersOf({
        // A single key has no cool-down of its own.
        providers: { jina: { type: "jina", url, apiKeys: [`\${READER_KEY}`, "another"] } },
        pages: [{ provider: "jina" }]
      })
      const api = services(providing(() => Effect.succeed(found(1)))).pipe(
        Layer.provide(Layer.succeed(PageReaders, list))
      )
      yield* Effect.gen(function* () {
        const { account, auth } = yield* aCaller({ plan: "growth" })
        const { get, send } = yield* TestApi.make
        const read = get("/v1/page?url=http%3A%2F%2F127.0.0.1%2Fa", auth)
        const spent = yield* read
        assert.deepStrictEqual([spent.status, spent.headers.get("x-credits-used")], [502, "0"])
        const sent = seen.length
        const logged = Effect.flatMap(QueryLog, (log) => log.recent(account.id, 10))
        assert.lengthOf(yield* logged, 1)
        const cooling = yield* read
        assert.deepStrictEqual([cooling.status, cooling.json.error], [502, "upstream_error"])
        assert.strictEqual(cooling.headers.get("x-credits-used"), "0")
        assert.match(cooling.json.message, /^No service that reads pages was asked, .* Nothing was charged/)
        const batch = yield* send("POST", "/v1/pages", {
          headers: { ...auth, "content-type": "application/json" },
          body: JSON.stringify({ urls: ["http://127.0.0.1/a", "http://127.0.0.1/b"] })
        })
        assert.deepInclude(batch.json, { succeeded: 0, failed: 2 })
        assert.deepStrictEqual(
          batch.json.results.map((row: { readonly message: string }) => row.message),
          [cooling.json.message, cooling.json.message]
        )
        assert.strictEqual(batch.headers.get("x-credits-used"), "0")
        assert.lengthOf(yield* logged, 1)
        assert.strictEqual((yield* Effect.flatMap(Ledger, (ledger) => ledger.allowance(account))).used, 0)
        assert.strictEqual(seen.length, sent)
      }).pipe(Effect.provide(api, { local: true }))
    }).pipe(Effect.scoped, Effect.provide([upstream, environment]), Effect.provide(Logger.layer([])))
  )

  it.live("names every fault of the file", () =>
    Effect.gen(function* () {
      const faults = (file: object) =>
        Effect.map(Effect.flip(readersOf(file)), ({ message }) => message.replaceAll(/.*\): /g, ""))
      const providers = {
        index: { type: "index" },
        fire: { type: "firecrawl", url: "http://fire.test" },
        tav: { type: "tavily" }
      }
      assert.strictEqual(yield* faults({ providers, pages: [] }), "pages must name at least one provider")
      assert.include(
        yield* faults({ providers, pages: [{ provider: "no" }] }),
        "pages.0.provider names no, which is not defined"
      )
      assert.include(yield* faults({ providers, pages: [{ provider: "index" }] }), "which cannot read pages")
      assert.include(
        yield* faults({ providers, pages: [{ provider: "fire" }] }),
        "providers.fire.url must begin with https"
      )
      assert.include(yield* faults({ providers, pages: [{ provider: "tav" }] }), "providers.tav.apiKey is missing")
      assert.deepStrictEqual(yield* readersOf({ providers }), ["direct"])
    }).pipe(Effect.scoped, Effect.provide([upstream, environment]))
  )
})
