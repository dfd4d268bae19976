import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, Logger, References } from "effect"
import { PageUnreadable } from "../../src/domain/errors.ts"
import type { ParsedPage } from "../../src/domain/pages/Page.ts"
import { ParserTime, unchargedMs } from "../../src/domain/pages/ParserTime.ts"
import { unreadableMessages } from "../../src/domain/UnreadableReason.ts"
import { QueryLog } from "../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../src/services/credits/Ledger.ts"
import { KeyStore } from "../../src/services/keys/KeyStore.ts"
import { PageFetcher } from "../../src/services/pages/PageFetcher.ts"
import { PageParser } from "../../src/services/pages/PageParser.ts"
import { PageSettings } from "../../src/services/pages/PageSettings.ts"
import { ParserAllowance } from "../../src/services/pages/ParserAllowance.ts"
import { everyShape } from "../support/api/Compat.ts"
import { aCaller, type Caller, found, providing, servicesOver, settings } from "../support/api/Services.ts"
import * as TestApi from "../support/api/TestApi.ts"
import * as MemoryStorage from "../support/stores/MemoryStorage.ts"

const parsed = (url: string): ParsedPage => ({
  title: "Title",
  description: null,
  author: null,
  siteName: "Site",
  published: "2026-10-02",
  language: "en",
  mediaType: "text/html",
  markdown: `# ${url}`,
  text: `text of ${url}`,
  links: [{ url: "https://site.test/next", text: "Next" }]
})

/** A web whose pages are missing, late or broken by their path. Others are read. */
const web = Layer.merge(
  Layer.succeed(PageFetcher, {
    fetch: ({ href, pathname }) => {
      if (pathname === "/gone") return Effect.fail(PageUnreadable.because("not_found", 404))
      if (pathname === "/late") return Effect.fail(PageUnreadable.because("timed_out"))
      if (pathname === "/boom") return Effect.die(new Error("a bug with a secret inside"))
      return Effect.succeed({ finalUrl: href, status: 200, contentType: "text/html", bytes: new Uint8Array(1) })
    }
  }),
  Layer.succeed(PageParser, { parse: ({ url }) => Effect.succeed(parsed(url)) })
)

const isOff = Layer.effect(
  PageSettings,
  Effect.map(PageSettings, (settings) => ({ ...settings, isOn: false }))
).pipe(Layer.provideMerge(settings))

const servicesWith = (pages = settings) =>
  Layer.suspend(() =>
    servicesOver(
      MemoryStorage.layer,
      providing(() => Effect.succeed(found(3))),
      { web, settings: pages }
    ).pipe(Layer.provideMerge(everyShape))
  )

const everything = servicesWith()

const parserTime = new ParserTime(unchargedMs)

const growth = aCaller({ plan: "growth" })

type Send = (api: TestApi.TestApi, url: string, headers: Record<string, string>) => Effect.Effect<TestApi.Answer>

const post =
  (path: string, bodyOf: (url: string) => object): Send =>
  (api, url, headers) =>
    api.send("POST", path, {
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(bodyOf(url))
    })

const get =
  (more: Record<string, string> = {}): Send =>
  (api, url, headers) =>
    api.get(`/compat/jina/${url}`, { ...headers, ...more })

const page = "https://site.test/a?b=c&d=%20e"

interface Form {
  readonly name: string
  readonly send: Send
  readonly textOf: (answer: TestApi.Answer) => unknown
  /** The form of a page that was not found. */
  readonly unread: (answer: TestApi.Answer) => void
  /** The form of a page whose account has used the parser too much (R83). */
  readonly limited: (answer: TestApi.Answer) => void
  readonly quota: number
}

const one = (send: Send, textOf: Form["textOf"], status: number): Omit<Form, "name" | "quota"> => ({
  send,
  textOf,
  limited: (answer) => {
    assert.strictEqual(answer.status, 429)
    assert.include(answer.text, "have taken too much time to parse")
    assert.isAbove(Number(answer.headers.get("retry-after")), 0)
  },
  unread: (answer) => {
    assert.strictEqual(answer.status, status)
    assert.include(answer.text, "The site has no page at this address.")
  }
})

const firecrawl = (version: string): Form => ({
  name: "firecrawl",
  quota: 402,
  ...one(
    post(`/compat/firecrawl/${version}/scrape`, (url) => ({ url, formats: ["markdown"], onlyMainContent: true })),
    ({ json }) => json.data.markdown,
    403
  )
})

const forms: Readonly<Record<string, Form>> = {
  "firecrawl/v1/scrape": firecrawl("v1"),
  "firecrawl/v2/scrape": firecrawl("v2"),
  "jina/{address}": {
    name: "jina",
    quota: 402,
    ...one(get({ accept: "application/json" }), ({ json }) => json.data.content, 422)
  },
  "openwebui/load": {
    name: "openwebui",
    quota: 402,
    ...one(
      post("/compat/openwebui/load", (url) => ({ urls: [url] })),
      ({ json }) => json[0].page_content,
      422
    ),
    limited: ({ status, text }) => {
      assert.strictEqual(status, 422)
      assert.include(text, unreadableMessages.timed_out)
    }
  },
  "tavily/extract": {
    name: "tavily",
    quota: 432,
    send: post("/compat/tavily/extract", (url) => ({ urls: [url], extract_depth: "basic" })),
    textOf: ({ json }) => json.results[0].raw_content,
    unread: ({ json, status }) => {
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(json.results, [])
      assert.deepStrictEqual(json.failed_results, [
        { url: "https://site.test/gone", error: "The site has no page at this address." }
      ])
    },
    limited: ({ json, status }) => {
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(json.failed_results, [{ url: page, error: unreadableMessages.timed_out }])
    }
  },
  "exa/contents": {
    name: "exa",
    quota: 402,
    send: post("/compat/exa/contents", (url) => ({ ids: [url], text: true })),
    textOf: ({ json }) => json.results[0].text.replace("text of", "#"),
    unread: ({ json, status }) => {
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(json.results, [])
      assert.deepStrictEqual(json.statuses, [
        {
          id: "https://site.test/gone",
          status: "error",
          error: { tag: "CRAWL_NOT_FOUND", httpStatusCode: 404 }
        }
      ])
    },
    limited: ({ json, status }) => {
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(json.statuses, [
        { id: page, status: "error", error: { tag: "CRAWL_TIMEOUT", httpStatusCode: null } }
      ])
    }
  }
}

const spent = Effect.fnUntraced(function* ({ account }: Pick<Caller, "account">) {
  const ledger = yield* Ledger
  assert.deepStrictEqual(yield* ledger.verify, [])
  const { used } = yield* ledger.allowance(account)
  return { used, log: yield* Effect.flatMap(QueryLog, (log) => log.recent(account.id, 50)) }
})

describe.each(Object.entries(forms))("/compat/%s", (path, { limited, name, quota, send, textOf, unread }) => {
  it.effect("R58: a page costs one credit and one hit, and is logged under its name", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const answer = yield* send(yield* TestApi.make, page, caller.auth)
      assert.strictEqual(answer.status, 200, answer.text)
      assert.strictEqual(textOf(answer), `# ${page}`)
      assert.strictEqual(answer.headers.get("x-credits-used"), "1")
      assert.strictEqual(answer.headers.get("x-ratelimit-remaining"), "299")
      const { log, used } = yield* spent(caller)
      assert.strictEqual(used, 1)
      assert.deepStrictEqual(
        log.map(({ credits, request }) => [request.target, request.query, request.source, credits]),
        [["page", page, `compat:${name}`, 1]]
      )
    }).pipe(Effect.provide(everything))
  )

  it.effect("R59: an unreadable page is reported in the service's form, and is free", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      unread(yield* send(yield* TestApi.make, "https://site.test/gone", caller.auth))
      assert.strictEqual((yield* spent(caller)).used, 0)
    }).pipe(Effect.provide(everything))
  )

  it.effect("R83: an account that used the parser too much gets that in its form, and is not charged", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      parserTime.spend(caller.account.id, unchargedMs, yield* Clock.currentTimeMillis)
      limited(yield* send(yield* TestApi.make, page, caller.auth))
      assert.strictEqual((yield* spent(caller)).used, 0)
    }).pipe(Effect.provide(Layer.provide(everything, Layer.succeed(ParserAllowance, parserTime))))
  )

  it.effect("R43: 401, 400, 402 and bugs are in its form", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const caller = yield* growth
      const status = (url: string, headers: Record<string, string>) =>
        Effect.map(send(api, url, headers), (answer) => {
          assert.notInclude(answer.text, "secret inside")
          return answer.status
        })
      assert.strictEqual(yield* status(page, {}), 401)
      const broke = yield* aCaller({ plan: "custom", quota: 0, concurrency: 1 })
      assert.strictEqual(yield* status(page, broke.auth), quota)
      // The row of a batch fails alone.
      const isBatch = path === "tavily/extract" || path === "exa/contents"
      assert.strictEqual(yield* status("ftp://site.test/", caller.auth), isBatch ? 200 : 400)
      assert.strictEqual(yield* status("https://site.test/boom", caller.auth), isBatch ? 200 : 500)
      assert.strictEqual((yield* spent(caller)).used, 0)
    }).pipe(Effect.provide(everything), Effect.provide(Logger.layer([])))
  )

  it.effect("R50: a key that may not read pages reads none", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const keys = yield* KeyStore
      const [key] = yield* keys.list(caller.account.id)
      yield* keys.bind(key?.id ?? "", { targets: ["alpha_search"] })
      const answer = yield* send(yield* TestApi.make, page, caller.auth)
      assert.notInclude(answer.text, `# ${page}`)
      assert.strictEqual((yield* spent(caller)).used, 0)
    }).pipe(Effect.provide(everything))
  )

  it.effect("is 404 where pages are off", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      assert.strictEqual((yield* send(yield* TestApi.make, page, caller.auth)).status, 404)
    }).pipe(Effect.provide(servicesWith(isOff)))
  )
})

describe("GET /compat/jina/{address}", () => {
  it.effect("is plain text with a head, or the text alone", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { auth } = yield* growth
      const whole = yield* get()(api, "https://site.test/", auth)
      assert.strictEqual(whole.headers.get("content-type"), "text/plain")
      assert.strictEqual(
        whole.text,
        "Title: Title\n\nURL Source: https://site.test/\n\nPublished Time: 2026-10-02\n\nMarkdown Content:\n# https://site.test/"
      )
      const text = yield* get({ "x-return-format": "text" })(api, "https://site.test/", auth)
      assert.strictEqual(text.text, "text of https://site.test/")
      const linked = yield* get({ "x-with-links-summary": "true", "x-return-format": "markdown" })(
        api,
        "site.test",
        auth
      )
      assert.strictEqual(linked.text, "# http://site.test/\n\nLinks/Buttons:\n- [Next](https://site.test/next)")
      const html = yield* get({ "x-return-format": "screenshot" })(api, "https://site.test/", auth)
      assert.strictEqual(html.status, 400)
    }).pipe(Effect.provide(everything))
  )

  it.effect("R3, R70: any spelling of an address is the address, and no address is in the access log", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const api = yield* TestApi.make
      const { auth } = yield* growth
      const many = `https://site.test/?${Array.from({ length: 100 }, (_, index) => `secretly${index}=1`).join("&")}`
      for (const [written, read] of [
        ["https://site.test/;m=1/%6d//x?a=1&a=2&a=3", "https://site.test/;m=1/%6d//x?a=1&a=2&a=3"],
        ["https:/site.test/secretly", "https://site.test/secretly"],
        ["https%3A%2F%2Fsite.test%2Fsecretly%3Fq%3D1", "https://site.test/secretly?q=1"],
        ["site.test/secretly", "http://site.test/secretly"],
        [many, many]
      ] as const) {
        const answer = yield* get({ accept: "application/json" })(api, written, auth)
        assert.strictEqual(answer.json.data?.url, read, answer.text)
      }
      assert.strictEqual((yield* get()(api, "", auth)).status, 400)
      assert.strictEqual((yield* api.send("POST", "/compat/jina/https://site.test/", { headers: auth })).status, 404)
      assert.isAbove(lines.length, 6)
      assert.notInclude(lines.join(), "secretly")
      assert.include(lines.join(), '"path":"/compat/jina/address"')
    }).pipe(
      Effect.provide(everything),
      Effect.provide(Logger.layer([Logger.map(Logger.formatJson, (line) => void lines.push(line))])),
      Effect.provideService(References.MinimumLogLevel, "All")
    )
  })
})

describe("POST /compat/firecrawl/v2/scrape", () => {
  it.effect("leaves out formats that it does not have, and says so", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { auth } = yield* growth
      const send = post("/compat/firecrawl/v2/scrape", (url) => ({ url, formats: [{ type: "links" }, "rawHtml"] }))
      const { json } = yield* send(api, "site.test/a", auth)
      assert.deepStrictEqual(json, {
        success: true,
        data: {
          links: ["https://site.test/next"],
          warning: "Not available: rawHtml.",
          metadata: {
            title: "Title",
            ogSiteName: "Site",
            publishedTime: "2026-10-02",
            language: "en",
            sourceURL: "http://site.test/a",
            url: "http://site.test/a",
            statusCode: 200,
            contentType: "text/html"
          }
        }
      })
      const late = yield* post("/compat/firecrawl/v2/scrape", (url) => ({ url }))(api, "https://site.test/late", auth)
      assert.strictEqual(late.status, 408)
      assert.deepInclude(late.json, { success: false, code: "SCRAPE_TIMEOUT" })
    }).pipe(Effect.provide(everything))
  )
})

describe("POST /compat/openwebui/load", () => {
  it.effect("leaves out pages that cannot be read", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const send = post("/compat/openwebui/load", (url) => ({ urls: ["https://site.test/gone", url] }))
      const { json } = yield* send(yield* TestApi.make, "https://site.test/a", caller.auth)
      const metadata = { source: "https://site.test/a", title: "Title" }
      assert.deepStrictEqual(json, [{ page_content: "# https://site.test/a", metadata }])
      assert.strictEqual((yield* spent(caller)).used, 1)
    }).pipe(Effect.provide(everything))
  )
})

describe("POST /compat/tavily/search with include_raw_content", () => {
  const search = (raw: unknown) =>
    post("/compat/tavily/search", () => ({ query: "css", max_results: 2, include_raw_content: raw }))

  it.effect("costs a credit for each page that is delivered, beside the search's", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const api = yield* TestApi.make
      const answer = yield* search(true)(api, "", caller.auth)
      assert.deepStrictEqual(
        answer.json.results.map((row: { readonly raw_content: string }) => row.raw_content),
        ["# https://www.example.com/1", "# https://www.example.com/2"]
      )
      assert.strictEqual(answer.headers.get("x-credits-used"), "3")
      assert.strictEqual((yield* spent(caller)).used, 3)
      const text = yield* search("text")(api, "", caller.auth)
      assert.strictEqual(text.json.results[0].raw_content, "text of https://www.example.com/1")
      const none = yield* search(false)(api, "", caller.auth)
      assert.isNull(none.json.results[0].raw_content)
      assert.strictEqual(none.headers.get("x-credits-used"), "1")
      assert.strictEqual((yield* search("html")(api, "", caller.auth)).status, 400)
    }).pipe(Effect.provide(everything))
  )

  it.effect("delivers as many pages as there are credits for", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      for (const [quota, delivered] of [
        [1, 0],
        [2, 1],
        [3, 2]
      ] as const) {
        const caller = yield* aCaller({ plan: "custom", quota, concurrency: 1 })
        const { json } = yield* search(true)(api, "", caller.auth)
        const texts = json.results.filter((row: { readonly raw_content: unknown }) => row.raw_content !== null)
        assert.lengthOf(texts, delivered)
        assert.strictEqual((yield* spent(caller)).used, quota)
      }
    }).pipe(Effect.provide(everything))
  )

  it.effect("has no pages where pages are off", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const { json } = yield* search(true)(yield* TestApi.make, "", caller.auth)
      assert.isNull(json.results[0].raw_content)
      assert.strictEqual((yield* spent(caller)).used, 1)
    }).pipe(Effect.provide(servicesWith(isOff)))
  )
})
