import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, Logger } from "effect"
import fc from "fast-check"
import { Compat } from "../../src/compat/Compat.ts"
import { describeApiWith } from "../../src/compat/document.ts"
import { compatShapes } from "../../src/domain/compat/CompatShape.ts"
import type { SearchRequest } from "../../src/domain/search/SearchRequest.ts"
import { describeApi } from "../../src/http/Api.ts"
import { everyShape } from "../support/api/Compat.ts"
import { aCaller, found, providing, servicesOver, unlimited } from "../support/api/Services.ts"
import * as TestApi from "../support/api/TestApi.ts"
import * as MemoryStorage from "../support/stores/MemoryStorage.ts"
import { wholeStackRuns } from "../support/wholeStackRuns.ts"

let asked: SearchRequest | undefined

const providers = providing((request) => {
  asked = request
  return Effect.succeed(found(30))
})

const over = (compat: Layer.Layer<never>) =>
  servicesOver(MemoryStorage.layer, providers, { limiter: unlimited, cacheTtl: Duration.zero }).pipe(
    Layer.provideMerge(compat)
  )

const everything = over(everyShape)

/** Sends requests of one account, and answers the search that each of them ran. */
const searching = Effect.gen(function* () {
  const api = yield* TestApi.make
  const { auth } = yield* aCaller({ plan: "business" })
  const ran = (answer: TestApi.Answer) => ({ ...answer, json: answer.json, search: asked })
  const clear = Effect.sync(() => {
    asked = undefined
  })
  const get = (path: string) => Effect.andThen(clear, Effect.map(api.get(path, auth), ran))
  const post = (path: string, body: string, type = "application/json") =>
    Effect.andThen(clear, Effect.map(api.send("POST", path, { headers: { ...auth, "content-type": type }, body }), ran))
  return { get, post, json: (path: string, body: unknown) => post(path, JSON.stringify(body)) }
})

const form = "application/x-www-form-urlencoded"

describe("/compat/searxng", () => {
  it.effect("R43: parameters become a search", () =>
    Effect.gen(function* () {
      const { get } = yield* searching
      for (const [query, part] of [
        ["", { target: "alpha_search", geo: "us", locale: "en-us", page: 1, num: 10, safe: "off" }],
        ["&language=all&safesearch=&engines=&categories=&time_range=&theme=simple", { geo: "us", safe: "off" }],
        ["&language=de&safesearch=1", { geo: "de", locale: "de-de", safe: "moderate" }],
        ["&language=de-AT&safesearch=2&pageno=3", { geo: "at", locale: "de-at", safe: "strict", page: 3 }],
        ["&engines=bing,%20Mojeek,google&safesearch=2", { target: "zeta_search", safe: "off" }],
        ["&engines=bing", { target: "alpha_search" }],
        ["&language=dz", { geo: "us", locale: "dz-bt" }],
        ["&time_range=month", { options: { freshness: "month" } }],
        ["&categories=general,%20News", { options: { topic: "news" } }],
        ["&categories=general&time_range=", {}]
      ] as const) {
        const { search, status } = yield* get(`/compat/searxng?q=css&format=json${query}`)
        assert.strictEqual(status, 200, query)
        assert.deepInclude(search, { query: "css", source: "compat:searxng", ...part }, query)
      }
    }).pipe(Effect.provide(everything))
  )

  it.effect("R43: address and form count together, the form first, and a body may be empty", () =>
    Effect.gen(function* () {
      const { post } = yield* searching
      for (const path of ["/compat/searxng", "/compat/searxng/", "/compat/searxng/search"]) {
        const { search, status } = yield* post(`${path}?q=no&pageno=2`, "q=css+grid&language=fr", form)
        assert.strictEqual(status, 200)
        assert.deepInclude(search, { query: "css grid", page: 2, geo: "fr" })
        assert.strictEqual((yield* post(`${path}?q=css`, "")).status, 200)
      }
      assert.strictEqual((yield* post("/compat/searxng?q=css", '{"q":"grid"}')).status, 400)
      assert.strictEqual((yield* post("/compat/searxng?q=css", "q=%ff", form)).status, 400)
    }).pipe(Effect.provide(everything))
  )

  it.effect("R43: says which parameters it cannot take, and charges nothing", () =>
    Effect.gen(function* () {
      const { get } = yield* searching
      const fields = ({ json }: { readonly json: { readonly issues: ReadonlyArray<{ readonly field: string }> } }) =>
        json.issues.map(({ field }) => field)
      const many = yield* get("/compat/searxng?q=%20&format=html&pageno=0&safesearch=3")
      assert.sameMembers(fields(many), ["q", "format", "pageno", "safesearch"])
      assert.deepStrictEqual(fields(yield* get("/compat/searxng?format=json")), ["q"])
      assert.deepStrictEqual(fields(yield* get("/compat/searxng?q=a&q=b")), ["q"])
      assert.deepStrictEqual(fields(yield* get("/compat/searxng?q=a&language=-")), ["language"])
      assert.strictEqual((yield* get("/compat/searxng?q=a&pageno=6")).json.error, "unsupported_parameter")
      assert.isUndefined(asked)
    }).pipe(Effect.provide(everything))
  )
})

describe("/compat/tavily/search", () => {
  const path = "/compat/tavily/search"

  it.effect("R43: fields become a search, and more results than a target serves are fewer", () =>
    Effect.gen(function* () {
      const { json } = yield* searching
      for (const [fields, part, rows] of [
        [{}, { num: 5, safe: "off", geo: "us" }, 5],
        [{ max_results: 0 }, { num: 1 }, 0],
        [{ max_results: 1000, safe_search: true }, { num: 20, safe: "strict" }, 20],
        [{ country: "South Korea", max_results: 2 }, { geo: "kr", locale: "ko-kr" }, 2],
        [{ country: "de" }, { geo: "de" }, 5],
        [{ max_results: null, country: null, include_domains: null, days: 3 }, { geo: "us" }, 5],
        [{ topic: "news", time_range: "w" }, { options: { freshness: "week", topic: "news" } }, 5],
        [{ topic: "finance", time_range: "year" }, { options: { freshness: "year" } }, 5],
        [
          { time_range: "day", start_date: "2026-01-01", end_date: "2026-01-31" },
          { options: { after: "2026-01-01", before: "2026-01-31" } },
          5
        ],
        [
          { include_domains: ["https://www.Example.com"], exclude_domains: ["a.test"] },
          { options: { includeDomains: ["example.com"], excludeDomains: ["a.test"] } },
          5
        ],
        [{ include_domains: ["example.com"], max_results: 3 }, { num: 20 }, 3],
        [{ include_domains: [], exclude_domains: [] }, { num: 5 }, 5],
        [{ include_domains: ["example.com/2"], max_results: 3 }, { num: 20 }, 1],
        [{ exclude_domains: ["www.example.com"] }, { num: 20 }, 0]
      ] as const) {
        const { json: body, search, status } = yield* json(path, { query: "css", ...fields })
        assert.strictEqual(status, 200, JSON.stringify([fields, body]))
        assert.deepInclude(search, { query: "css", source: "compat:tavily", ...part })
        assert.lengthOf(body.results, rows, JSON.stringify(fields))
      }
    }).pipe(Effect.provide(everything))
  )

  it.effect("R43: says in its form what is not valid", () =>
    Effect.gen(function* () {
      const { json, post } = yield* searching
      for (const fields of [
        { query: 7 },
        { query: ["a"] },
        { country: "Atlantis" },
        { country: "monaco" },
        { max_results: -1 },
        { max_results: "5" },
        { max_results: 1.5 },
        { include_domains: "example.com" },
        { exclude_domains: Array.from({ length: 301 }, () => "a") },
        { safe_search: "yes" },
        { time_range: "hour" },
        { start_date: "yesterday" },
        { start_date: "2026-02-01", end_date: "2026-01-01" },
        { include_domains: ["not a domain"] }
      ]) {
        const { json: body, status } = yield* json(path, { query: "css", ...fields })
        assert.strictEqual(status, 400, JSON.stringify(fields))
        assert.match(body.detail.error, /\S/)
      }
      for (const body of ["", "{", "[]", "null", '"css"', "7"])
        assert.strictEqual((yield* post(path, body)).status, 400)
      assert.strictEqual((yield* post(path, '{"query":"css"}', "text/plain")).status, 400)
    }).pipe(Effect.provide(everything))
  )
})

describe("/compat/openwebui and /compat/perplexity", () => {
  it.effect("R43: fields become a search", () =>
    Effect.gen(function* () {
      const { json } = yield* searching
      const own = yield* json("/compat/openwebui", { query: "css", count: 3 })
      assert.deepInclude(own.search, { num: 3, source: "compat:openwebui" })
      assert.lengthOf(own.json, 3)
      assert.lengthOf((yield* json("/compat/openwebui", { query: "css" })).json, 10)
      for (const path of ["/compat/perplexity", "/compat/perplexity/search"]) {
        const { json: body, search } = yield* json(path, { query: [" css  grid "], max_results: 2, country: "FR" })
        assert.deepInclude(search, { query: "css grid", num: 2, geo: "fr", source: "compat:perplexity" })
        assert.lengthOf(body.results, 2)
      }
      const limited = yield* json("/compat/perplexity", {
        query: "css",
        search_recency_filter: "week",
        search_domain_filter: ["www.example.com", "-docs.example.com"]
      })
      assert.deepInclude(limited.search, {
        options: { freshness: "week", includeDomains: ["example.com"], excludeDomains: ["docs.example.com"] }
      })
      assert.strictEqual(
        (yield* json("/compat/perplexity", { query: "css", search_recency_filter: "hour" })).status,
        400
      )
      assert.strictEqual((yield* json("/compat/perplexity", { query: "css", search_domain_filter: ["-"] })).status, 400)
      assert.strictEqual((yield* json("/compat/perplexity", { query: [] })).status, 400)
      assert.strictEqual(
        (yield* json("/compat/perplexity", { query: "css", country: "zz" })).json.error,
        "unsupported_geo"
      )
    }).pipe(Effect.provide(everything))
  )
})

describe("hostile requests", () => {
  const names = [
    "q",
    "query",
    "pageno",
    "language",
    "safesearch",
    "engines",
    "format",
    "max_results",
    "count",
    "country"
  ]
  const more = ["safe_search", "include_domains", "exclude_domains", "api_key", "__proto__", "constructor", "toString"]
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.string({ unit: "binary" }),
    fc.constantFrom(1e308, -0, 2 ** 53)
  )
  const body = fc
    .array(fc.tuple(fc.constantFrom(...names, ...more), value))
    .map((pairs) => JSON.stringify({ query: "css", ...Object.fromEntries(pairs) }))
  const raw = fc
    .array(fc.tuple(fc.constantFrom(...names), fc.string({ unit: "binary" })), { maxLength: 6 })
    .map((pairs) =>
      ["q=css", ...pairs.map(([name, text]) => `${name}=${encodeURIComponent(text.toWellFormed())}`)].join("&")
    )

  it.effect("R43: no field and no parameter makes a fault of the service", () =>
    Effect.gen(function* () {
      const { get, post } = yield* searching
      const run = Effect.runPromiseWith(yield* Effect.context<never>())
      const hasNoFault = async (answer: ReturnType<typeof get>) => {
        const { status, text } = await run(answer)
        assert.include([200, 400, 401], status, text)
      }
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(body, raw, async (body, parameters) => {
            for (const path of ["/compat/tavily/search", "/compat/openwebui", "/compat/perplexity"]) {
              await hasNoFault(post(path, body))
            }
            await hasNoFault(get(`/compat/searxng?${parameters}`))
            await hasNoFault(post("/compat/searxng", parameters, form))
          }),
          { numRuns: wholeStackRuns }
        )
      )
      for (const query of ["%", "%ff", "q=%ff", "q=%00", "q=css&language=%ff", "&&==&", `q=${"a".repeat(8000)}`]) {
        yield* Effect.promise(() => hasNoFault(get(`/compat/searxng?${query}`)))
      }
    }).pipe(Effect.provide(everything), Effect.provide(Logger.layer([])))
  )
})

describe("the API's description", () => {
  const pathsOf = (document: { readonly paths: object }) =>
    Object.keys(document.paths).filter((path) => path.startsWith("/compat/"))

  it("R43: has what is turned on, and nothing else", () => {
    assert.deepStrictEqual(describeApiWith([]), describeApi())
    assert.deepStrictEqual(pathsOf(describeApiWith(["tavily"])), ["/compat/tavily/search", "/compat/tavily/extract"])
    const document = describeApiWith(compatShapes)
    assert.sameMembers(pathsOf(document), [
      "/compat/tavily/extract",
      "/compat/openwebui/load",
      "/compat/exa/contents",
      "/compat/firecrawl/v1/scrape",
      "/compat/firecrawl/v2/scrape",
      "/compat/jina/{address}",
      "/compat/searxng/search",
      "/compat/tavily/search",
      "/compat/openwebui",
      "/compat/perplexity/search",
      "/compat/brave/res/v1/web/search",
      "/compat/serper/search",
      "/compat/exa/search"
    ])
    const search = document.paths["/compat/tavily/search"]?.post
    assert.sameMembers(Object.keys(search?.responses ?? {}), ["200", "400", "401", "429", "432", "500", "502", "504"])
    const parameters = document.paths["/compat/searxng/search"]?.get?.parameters.map(({ name }) => name)
    assert.deepStrictEqual(parameters, [
      "q",
      "format",
      "pageno",
      "language",
      "safesearch",
      "time_range",
      "categories",
      "engines"
    ])
    const schemes = Object.keys(document.components.securitySchemes)
    for (const requirement of search?.security ?? []) assert.includeMembers(schemes, Object.keys(requirement))
  })

  it.effect("R43: the served documents have it", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const paths = pathsOf((yield* api.get("/openapi.json")).json)
      assert.deepStrictEqual(paths, ["/compat/tavily/search", "/compat/tavily/extract"])
      assert.include((yield* api.get("/docs")).text, "/compat/tavily/search")
    }).pipe(Effect.provide(over(Layer.succeed(Compat, { shapes: ["tavily"], engines: {} }))))
  )
})
