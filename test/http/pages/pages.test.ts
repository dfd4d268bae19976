import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber, Layer, Metric } from "effect"
import { TestClock } from "effect/testing"
import { PageUnreadable } from "../../../src/domain/errors.ts"
import { ParseFailure } from "../../../src/domain/pages/Page.ts"
import { ParserTime, unchargedMs } from "../../../src/domain/pages/ParserTime.ts"
import { Accounts } from "../../../src/services/accounts/Accounts.ts"
import { QueryLog } from "../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { KeyStore } from "../../../src/services/keys/KeyStore.ts"
import { PageFetcher } from "../../../src/services/pages/PageFetcher.ts"
import { PageParser } from "../../../src/services/pages/PageParser.ts"
import { PageSettings } from "../../../src/services/pages/PageSettings.ts"
import { ParserAllowance } from "../../../src/services/pages/ParserAllowance.ts"
import { pageParserLimited } from "../../../src/services/telemetry/Metrics.ts"
import { callTool } from "../../support/api/Mcp.ts"
import {
  aCaller,
  type Caller,
  demoOrigin,
  found,
  marketplaceSecret,
  providing,
  servicesOver
} from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"
import * as MemoryStorage from "../../support/stores/MemoryStorage.ts"

/** The addresses that were fetched, in order. */
let fetched: Array<string> = []
/** The accounts that the last page was fetched for. */
let payers: ReadonlyArray<string> = []

/** A web whose pages say in their path what they do. The text of a page is its number. */
const web = Layer.merge(
  Layer.succeed(PageFetcher, {
    fetch: (url, payer, timeout) => {
      const answer = Effect.sync(() => {
        fetched.push(url.href)
        payers = typeof payer === "string" ? [payer] : payer.ids
        const finalUrl = url.pathname === "/moved" ? new URL("/there", url).href : url.href
        return { finalUrl, status: 200, contentType: "text/html", bytes: Buffer.from(`${fetched.length}`) }
      })
      const slow = Effect.delay(answer, "3 seconds")
      if (url.pathname === "/gone") return Effect.andThen(answer, Effect.fail(PageUnreadable.because("not_found", 404)))
      if (url.pathname === "/boom") return Effect.die(new Error("a bug"))
      if (url.pathname === "/never") {
        return Effect.never.pipe(
          Effect.timeoutOrElse({ duration: timeout, orElse: () => Effect.fail(PageUnreadable.because("timed_out")) })
        )
      }
      return url.pathname.startsWith("/slow") ? slow : answer
    }
  }),
  Layer.succeed(PageParser, {
    parse: ({ bytes, contentType = "", url }) => {
      if (url.endsWith("/large")) return Effect.fail(new ParseFailure({ reason: "too_large" }))
      if (url.endsWith("/empty")) return Effect.fail(new ParseFailure({ reason: "no_text" }))
      const text = `${Buffer.from(bytes)} 😀 text`
      const none = { description: null, author: null, siteName: null, published: null, language: null }
      return Effect.succeed({ ...none, title: "T", mediaType: contentType, markdown: text, text, links: [] })
    }
  })
)

const providers = providing(() => Effect.succeed(found(1)))

const parserTime = new ParserTime(unchargedMs)

const services = Layer.suspend(() => {
  fetched = []
  return servicesOver(MemoryStorage.layer, providers, { web }).pipe(
    Layer.provide(Layer.succeed(ParserAllowance, parserTime))
  )
})

const growth = aCaller({ plan: "growth" })

const limitedPages = Metric.value(pageParserLimited.of())

const usedBy = ({ account }: Caller) =>
  Effect.flatMap(Ledger, (ledger) => Effect.map(ledger.allowance(account), ({ used }) => used))

const entriesOf = ({ account }: Caller) => Effect.flatMap(QueryLog, (log) => log.recent(account.id, 50))

/** Sends a request and moves the clock until it is answered. */
const answerTo = Effect.fnUntraced(function* (send: (api: TestApi.TestApi) => Effect.Effect<TestApi.Answer>) {
  const fiber = yield* Effect.forkChild(send(yield* TestApi.make))
  while (fiber.pollUnsafe() === undefined) {
    yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
    yield* TestClock.adjust("250 millis")
  }
  return yield* Fiber.join(fiber)
})

const read = (caller: Pick<Caller, "auth">, path: string, more = "", headers: Record<string, string> = {}) =>
  answerTo((api) =>
    api.get(`/v1/page?url=${encodeURIComponent(`http://site.test${path}`)}${more}`, { ...caller.auth, ...headers })
  )

const readAll = (caller: Pick<Caller, "auth">, body: unknown, headers: Record<string, string> = {}) =>
  answerTo((api) =>
    api.send("POST", "/v1/pages", {
      headers: { ...caller.auth, "content-type": "application/json", ...headers },
      body: JSON.stringify(body)
    })
  )

describe("GET /v1/page", () => {
  it.effect("R58: a page that was read costs one credit and is an entry of the log", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const answer = yield* read(caller, "/a", "&source=test")
      assert.strictEqual(answer.status, 200)
      assert.match(answer.json.id, /^pag_[0-9a-f]{32}$/)
      assert.deepInclude(answer.json, { url: "http://site.test/a", content: "1 😀 text", title: "T", truncated: false })
      assert.strictEqual(answer.headers.get("x-credits-used"), "1")
      assert.strictEqual(yield* usedBy(caller), 1)
      const [entry] = yield* entriesOf(caller)
      assert.deepInclude(entry, { id: answer.json.id, outcome: "ok", credits: 1, cached: false })
      assert.deepStrictEqual(entry?.request, { target: "page", query: "http://site.test/a", source: "test" })
      assert.deepStrictEqual(entry?.page, { host: "site.test", reason: undefined, bytes: 1 })
    }).pipe(Effect.provide(services))
  )

  it.effect("R59: a page that was not read is a 422 with its reason, free, and logged", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const gone = yield* read(caller, "/gone")
      assert.strictEqual(gone.status, 422)
      assert.deepInclude(gone.json, { error: "page_unreadable", reason: "not_found", http_status: 404 })
      assert.strictEqual(gone.json.request_id, gone.headers.get("x-request-id"))
      const empty = yield* read(caller, "/empty")
      assert.deepInclude(empty.json, { reason: "no_text", http_status: 200 })
      const never = yield* read(caller, "/never")
      assert.deepInclude(never.json, { reason: "timed_out" })
      assert.notProperty(never.json, "http_status")
      const boom = yield* read(caller, "/boom")
      assert.strictEqual(boom.status, 500)
      assert.strictEqual(yield* usedBy(caller), 0)
      const entries = yield* entriesOf(caller)
      assert.deepStrictEqual(
        entries.map(({ credits, outcome, page }) => [credits, outcome, page?.reason]),
        (["timed_out", "no_text", "not_found"] as const).map((reason) => [0, "page_unreadable" as const, reason])
      )
    }).pipe(Effect.provide(services))
  )

  it.effect(
    "R83: after 10 seconds of uncharged parser time, a page is 429 and free, a copy is not, a row is timed_out",
    () =>
      Effect.gen(function* () {
        const caller = yield* growth
        yield* read(caller, "/copied")
        parserTime.spend(caller.account.id, 10_000, yield* Clock.currentTimeMillis)
        const before = fetched.length
        const limitedBefore = (yield* limitedPages).count
        const limited = yield* read(caller, "/page")
        assert.strictEqual(limited.status, 429)
        assert.strictEqual(limited.json.error, "rate_limited")
        const seconds = Number(limited.headers.get("retry-after"))
        assert.isTrue(seconds > 0 && seconds <= 60)
        assert.strictEqual((yield* read(caller, "/copied")).status, 200)
        const rows = yield* readAll(caller, { urls: ["http://site.test/row"] })
        assert.deepInclude(rows.json.results[0], { error: "page_unreadable", reason: "timed_out" })
        assert.strictEqual((yield* limitedPages).count - limitedBefore, 2)
        assert.strictEqual(fetched.length, before)
        assert.strictEqual((yield* read(yield* growth, "/page")).status, 200)
        yield* TestClock.adjust("1 minute")
        assert.strictEqual((yield* read(caller, "/page")).status, 200)
        assert.strictEqual(yield* usedBy(caller), 3)
      }).pipe(Effect.provide(services))
  )

  it.effect("R83: behind the marketplace's proxy, each subscriber has the limits of an account", () =>
    Effect.gen(function* () {
      const as = (user: string) => ({
        auth: { "x-marketplace-proxy-secret": marketplaceSecret, "x-marketplace-user": user }
      })
      const ada = yield* Effect.flatMap(Accounts, (accounts) => accounts.ofSubscriber("ada", "growth"))
      assert.strictEqual((yield* read(as("ada"), "/page")).status, 200)
      assert.deepStrictEqual(payers, [ada.id])
      parserTime.spend(ada.id, unchargedMs, yield* Clock.currentTimeMillis)
      const limited = yield* read(as("ada"), "/another")
      assert.strictEqual(limited.status, 429)
      assert.isAbove(Number(limited.headers.get("retry-after")), 0)
      const rows = yield* readAll(as("ada"), { urls: ["http://site.test/row"] })
      assert.deepInclude(rows.json.results[0], { error: "page_unreadable", reason: "timed_out" })
      assert.strictEqual((yield* read(as("bob"), "/another")).status, 200)
      assert.notInclude(payers, ada.id)
    }).pipe(Effect.provide(services))
  )

  it.effect("R83: the tool says that the account used the parser too much, and when to try again", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      parserTime.spend(caller.account.id, unchargedMs, yield* Clock.currentTimeMillis)
      const { content, isError } = yield* callTool(yield* TestApi.make, caller.auth, "read_page", {
        url: "http://site.test/page"
      })
      assert.isTrue(isError)
      assert.match(
        content[0].text,
        /^rate_limited: Pages that could not be read have taken too much time.* Try again in/
      )
      assert.strictEqual(yield* usedBy(caller), 0)
    }).pipe(Effect.provide(services))
  )

  it.effect("R83: a page over the parser's limits is too_large for ten minutes without another fetch", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      for (let time = 0; time < 3; time++) {
        const large = yield* read(caller, "/large", "&max_age=0")
        assert.deepInclude(large.json, { reason: "too_large", http_status: 200 })
      }
      assert.lengthOf(fetched, 1)
      yield* TestClock.adjust("10 minutes")
      yield* read(caller, "/large")
      assert.lengthOf(fetched, 2)
    }).pipe(Effect.provide(services))
  )

  it.effect("R58: the demo is 401, a key without the target page is refused, and no credits are 402", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const demoHeaders = { "x-demo-origin": demoOrigin, "x-forwarded-for": "203.0.113.7" }
      const demo = yield* answerTo((api) => api.get("/v1/page?url=http://a.test/", demoHeaders))
      assert.strictEqual(demo.status, 401)
      assert.strictEqual((yield* readAll({ auth: demoHeaders }, { urls: ["http://a.test/"] })).status, 401)
      assert.deepStrictEqual(fetched, [])
      const keys = yield* KeyStore
      const key = (yield* keys.list(caller.account.id))[0]?.id ?? ""
      yield* keys.bind(key, { targets: ["alpha_search"] })
      const refused = yield* read(caller, "/a")
      assert.strictEqual(refused.json.error, "unsupported_parameter")
      yield* keys.bind(key, { targets: ["page"] })
      assert.strictEqual((yield* read(caller, "/a")).status, 200)
      yield* keys.bind(key, { targets: null, budget: { credits: 1, period: "life" } })
      assert.strictEqual((yield* read(caller, "/a")).status, 200)
      assert.strictEqual((yield* read(caller, "/a")).status, 402)
    }).pipe(Effect.provide(services))
  )

  it.effect("R60: a copy answers until its age, under the address and the one it leads to, and costs a credit", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const first = yield* read(caller, "/moved")
      assert.strictEqual(first.json.final_url, "http://site.test/there")
      yield* TestClock.adjust("59 minutes")
      for (const path of ["/moved", "/there", "/moved#x"]) {
        const again = yield* read(caller, path)
        assert.strictEqual(again.json.fetched_at, first.json.fetched_at, path)
      }
      assert.lengthOf(fetched, 1)
      assert.strictEqual(yield* usedBy(caller), 4)
      assert.isTrue((yield* entriesOf(caller))[0]?.cached)
      yield* read(caller, "/there", "&max_age=0")
      assert.lengthOf(fetched, 2)
      yield* TestClock.adjust("61 minutes")
      yield* read(caller, "/there", "&max_age=86400")
      assert.lengthOf(fetched, 2)
      yield* read(caller, "/there")
      assert.lengthOf(fetched, 3)
    }).pipe(Effect.provide(services))
  )

  it.effect("R60: a failure is not kept", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      yield* read(caller, "/gone")
      yield* read(caller, "/gone")
      assert.lengthOf(fetched, 2)
    }).pipe(Effect.provide(services))
  )

  it.effect("R15: concurrent requests for a page share its fetch, and each is charged", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const answers = yield* Effect.all([read(caller, "/slow"), read(caller, "/slow"), read(caller, "/slow")], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200, 200]
      )
      assert.lengthOf(fetched, 1)
      assert.strictEqual(yield* usedBy(caller), 3)
    }).pipe(Effect.provide(services))
  )

  it.effect("R44: a charged page is replayed for free, and an uncharged page is read again", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const keyed = { "idempotency-key": "k" }
      const first = yield* read(caller, "/a", "", keyed)
      const again = yield* read(caller, "/a", "", keyed)
      assert.strictEqual(again.text, first.text)
      assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
      assert.strictEqual(again.headers.get("x-credits-used"), "0")
      assert.strictEqual((yield* read(caller, "/b", "", keyed)).status, 400)
      yield* read(caller, "/gone", "", { "idempotency-key": "g" })
      yield* read(caller, "/gone", "", { "idempotency-key": "g" })
      assert.lengthOf(fetched, 3)
      assert.strictEqual(yield* usedBy(caller), 1)
    }).pipe(Effect.provide(services))
  )

  it.effect("R21: a caller who leaves pays for a page that was read, once", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const api = yield* TestApi.make
      const fiber = yield* Effect.forkChild(api.get("/v1/page?url=http://site.test/slow", caller.auth))
      while ((yield* usedBy(caller)) === 0) yield* Effect.yieldNow
      yield* Fiber.interrupt(fiber)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* usedBy(caller), 1)
      assert.deepStrictEqual(
        (yield* entriesOf(caller)).map(({ outcome }) => outcome),
        ["ok"]
      )
    }).pipe(Effect.provide(services))
  )

  it.effect("R58: without PAGES the routes are not there", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      assert.strictEqual((yield* read(caller, "/a")).status, 404)
      assert.strictEqual((yield* readAll(caller, { urls: ["http://site.test/a"] })).status, 404)
    }).pipe(
      Effect.provideService(PageSettings, { isOn: false, timeout: Duration.seconds(15), cacheTtl: Duration.hours(1) }),
      Effect.provide(services)
    )
  )
})

describe("POST /v1/pages", () => {
  const urls = ["/a", "/gone", "/empty", "/a", "/never", "/boom"].map((path) => `http://site.test${path}`)

  it.effect("R61: rows are independent, in input order, and only those that were read are charged", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const { headers, json, status } = yield* readAll(caller, { urls: [...urls, "ftp://x/"], max_chars: 3 })
      assert.strictEqual(status, 200)
      assert.deepInclude(json, { total: 7, succeeded: 2, failed: 5 })
      assert.deepStrictEqual(
        json.results.map(
          (row: { status: string; error?: string; reason?: string }) => row.reason ?? row.error ?? row.status
        ),
        ["ok", "not_found", "no_text", "ok", "timed_out", "internal_error", "invalid_request"]
      )
      assert.deepInclude(json.results[0], { content: "1 😀", truncated: true })
      assert.strictEqual(headers.get("x-credits-used"), "2")
      assert.strictEqual(yield* usedBy(caller), 2)
      const entries = yield* entriesOf(caller)
      assert.lengthOf(entries, 5)
      assert.isTrue(entries.every(({ batchId }) => batchId === json.batch_id))
    }).pipe(Effect.provide(services))
  )

  it.effect("R61: fewer credits than valid rows are 402, and nothing is read", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "trial" })
      const ledger = yield* Ledger
      const left = 100 - 1
      yield* ledger.adjust({ accountId: caller.account.id, credits: -left, to: "quota", reason: "test", by: "test" })
      const answer = yield* readAll(caller, { urls: ["http://site.test/a", "http://site.test/b"] })
      assert.strictEqual(answer.status, 402)
      assert.deepStrictEqual(fetched, [])
      const one = yield* readAll(caller, { urls: ["http://site.test/a", "x"] })
      assert.deepInclude(one.json, { succeeded: 1, failed: 1 })
    }).pipe(Effect.provide(services))
  )

  it.effect("R46, R61: lines arrive as rows end, each settled before it is written", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const answer = yield* readAll(caller, { urls }, { accept: "application/x-ndjson" })
      const lines = answer.text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line))
      assert.strictEqual(lines[0].type, "batch")
      assert.deepInclude(lines.at(-1), { type: "summary", total: 6, succeeded: 2, failed: 4, credits_used: 2 })
      const rows = lines.filter(({ type }) => type === "row")
      assert.deepStrictEqual(rows.map(({ index }) => index).toSorted(), [0, 1, 2, 3, 4, 5])
      assert.strictEqual(rows.find(({ index }) => index === 1).reason, "not_found")
      assert.strictEqual(yield* usedBy(caller), 2)
      assert.lengthOf(yield* entriesOf(caller), 5)
      assert.deepStrictEqual(yield* Effect.flatMap(Ledger, (ledger) => ledger.verify), [])
    }).pipe(Effect.provide(services))
  )

  it.effect("R44, R61: a batch that was charged is answered again, its failed rows too", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const keyed = { "idempotency-key": "k" }
      const first = yield* readAll(caller, { urls }, keyed)
      const again = yield* readAll(caller, { urls }, keyed)
      assert.strictEqual(again.text, first.text)
      assert.strictEqual(again.headers.get("x-credits-used"), "0")
      assert.strictEqual(yield* usedBy(caller), 2)
    }).pipe(Effect.provide(services))
  )
})
