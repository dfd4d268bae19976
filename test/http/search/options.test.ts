import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { UpstreamError } from "../../../src/domain/errors.ts"
import type { SearchRequest } from "../../../src/domain/search/SearchRequest.ts"
import { SendsServerTiming, serverTiming } from "../../../src/http/responses/serverTiming.ts"
import { QueryLog } from "../../../src/services/charging/QueryLog.ts"
import { aCaller, providing, services } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"

const asked: Array<SearchRequest> = []

const providers = providing((request) => {
  asked.push(request)
  if (request.query === "fail") return Effect.fail(new UpstreamError({ message: "The provider failed." }))
  const row = (url: string, published?: string) => ({
    url,
    title: url,
    snippet: "",
    ...(published === undefined ? {} : { published })
  })
  return Effect.succeed({
    provider: "test",
    rows: [
      row("https://EXAMPLE.org./a", "2026-01-15"),
      row("https://user:pass@docs.example.org:8443/b"),
      row("https://other.test/c", "2026-02-15T10:00:00Z")
    ]
  })
})

const layer = services(providers)

const urlsOf = (answer: TestApi.Answer) =>
  answer.json.results.organic.map(({ url }: { readonly url: string }) => new URL(url).hostname)

describe("R62: GET /v1/query", () => {
  it.effect("returns nothing from an excluded domain, and has the dates that the engine gave", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { auth } = yield* aCaller({ plan: "business" })
      const all = yield* api.get("/v1/query?query=x", auth)
      assert.deepStrictEqual(
        all.json.results.organic.map(({ published }: { readonly published?: string }) => published),
        ["2026-01-15", undefined, "2026-02-15T10:00:00Z"]
      )
      assert.deepStrictEqual(urlsOf(yield* api.get("/v1/query?query=x&exclude_domains=www.Example.org", auth)), [
        "other.test"
      ])
      assert.deepStrictEqual(
        urlsOf(yield* api.get("/v1/query?query=x&include_domains=docs.example.org,a.test", auth)),
        ["docs.example.org"]
      )
      // Undated results stay: the engine filtered by date.
      assert.deepStrictEqual(urlsOf(yield* api.get("/v1/query?query=x&after=2026-02-01", auth)), [
        "docs.example.org",
        "other.test"
      ])
      assert.isFalse("options" in (asked[0] ?? {}))
      assert.deepStrictEqual(asked.at(-1)?.options, { after: "2026-02-01" })
    }).pipe(Effect.provide(layer))
  )

  it.effect("lists every invalid option, and charges nothing", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { account, auth } = yield* aCaller({ plan: "business" })
      const { json, status } = yield* api.get(
        "/v1/query?query=x&freshness=day&after=2026-02-02&before=2026-02-01&include_domains=a.org&exclude_domains=www.a.org&topic=x",
        auth
      )
      assert.strictEqual(status, 400)
      assert.deepStrictEqual(
        json.issues.map(({ field }: { readonly field: string }) => field),
        ["freshness", "after", "exclude_domains", "topic"]
      )
      assert.deepStrictEqual(yield* (yield* QueryLog).recent(account.id, 10), [])
    }).pipe(Effect.provide(layer))
  )

  it.effect("R15: searches with other options have other answers in the cache, and the log has the options", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { account, auth } = yield* aCaller({ plan: "business" })
      for (const options of [
        "",
        "&freshness=week",
        "",
        "&freshness=week",
        "&freshness=day",
        "&include_domains=b.org,a.org",
        "&include_domains=a.org,b.org"
      ]) {
        assert.strictEqual((yield* api.get(`/v1/query?query=cached${options}`, auth)).status, 200)
      }
      const log = yield* (yield* QueryLog).recent(account.id, 10)
      assert.deepStrictEqual(log.map(({ cached, request }) => [cached, request.options]).reverse(), [
        [false, undefined],
        [false, { freshness: "week" }],
        [true, undefined],
        [true, { freshness: "week" }],
        [false, { freshness: "day" }],
        [false, { includeDomains: ["a.org", "b.org"] }],
        [true, { includeDomains: ["a.org", "b.org"] }]
      ])
    }).pipe(Effect.provide(layer))
  )
})

describe("R62: POST /v1/bulk and /mcp", () => {
  const body = {
    exclude_domains: ["example.org"],
    queries: [
      "x",
      { query: "x", exclude_domains: ["other.test"] },
      { query: "x", after: "2026-02-02", before: "2026-02-01" }
    ]
  }

  it.effect("rows override the body, as JSON and as lines", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { auth } = yield* aCaller({ plan: "business" })
      const headers = { ...auth, "content-type": "application/json" }
      const { json } = yield* api.send("POST", "/v1/bulk", { headers, body: JSON.stringify(body) })
      const hosts = (row: { results?: { organic: ReadonlyArray<{ url: string }> }; error?: string }) =>
        row.results?.organic.map(({ url }) => new URL(url).hostname) ?? row.error
      assert.deepStrictEqual(json.results.map(hosts), [
        ["other.test"],
        ["example.org.", "docs.example.org"],
        "invalid_request"
      ])
      const lines = yield* api.send("POST", "/v1/bulk", {
        headers: { ...headers, accept: "application/x-ndjson" },
        body: JSON.stringify(body)
      })
      const rows = lines.text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
        .filter(({ type }) => type === "row")
      assert.deepStrictEqual(rows.sort((a, b) => a.index - b.index).map(hosts), json.results.map(hosts))
    }).pipe(Effect.provide(layer))
  )
})

describe("R64: Server-Timing", () => {
  const timings = (path: string) =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { auth } = yield* aCaller({ plan: "business" })
      const first = yield* api.get(path, auth)
      const second = yield* api.get(path, auth)
      return [first, second].map(({ headers }) => headers.get("server-timing"))
    })

  it.effect("says what took the time of a search, and whether the cache had the answer", () =>
    Effect.gen(function* () {
      const [first, second] = yield* timings("/v1/query?query=timed")
      assert.match(first ?? "", /^total;dur=\d+\.\d, provider;desc="test";dur=\d+\.\d, cache;desc=miss$/)
      assert.match(second ?? "", /^total;dur=\d+\.\d, cache;desc=hit$/)
      const [failed] = yield* timings("/v1/query?query=fail")
      assert.match(failed ?? "", /^total;dur=\d+\.\d, provider;dur=\d+\.\d, cache;desc=miss$/)
    }).pipe(Effect.provide(layer))
  )

  it.effect("is not sent by other routes, nor when it is off", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* timings("/v1/me"), [null, null])
      assert.deepStrictEqual(
        yield* timings("/v1/query?query=off").pipe(Effect.provide(Layer.succeed(SendsServerTiming, false))),
        [null, null]
      )
    }).pipe(Effect.provide(layer))
  )

  it("never has the name of a host", () => {
    const by = (name: string) => serverTiming(1, { part: { name: "provider", by: name, ms: 2.04 }, cache: "miss" })
    assert.strictEqual(
      by("meta/google + brave"),
      'total;dur=1.0, provider;desc="meta/google + brave";dur=2.0, cache;desc=miss'
    )
    for (const name of ["search.example.org", "10.0.0.1", 'a"b', "a\r\nb", "[::1]:80"]) {
      assert.strictEqual(by(name), "total;dur=1.0, provider;dur=2.0, cache;desc=miss")
    }
  })
})
