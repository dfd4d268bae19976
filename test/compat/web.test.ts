import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { UpstreamError } from "../../src/domain/errors.ts"
import type { SearchRequest } from "../../src/domain/search/SearchRequest.ts"
import { Ledger } from "../../src/services/credits/Ledger.ts"
import { everyShape } from "../support/api/Compat.ts"
import { aCaller, found, providing, servicesOver, unlimited } from "../support/api/Services.ts"
import * as TestApi from "../support/api/TestApi.ts"
import * as MemoryStorage from "../support/stores/MemoryStorage.ts"

const asked: Array<SearchRequest> = []

const row = (name: string) => ({ url: `https://${name}.example.com/`, title: name, snippet: "" })

const providers = providing((request) => {
  asked.push(request)
  const { query } = request
  if (query === "fail") return Effect.fail(new UpstreamError({ message: "The search provider could not be reached." }))
  if (query === "first") return Effect.succeed({ provider: "test", rows: [row("a"), row("both")] })
  if (query === "second") return Effect.succeed({ provider: "test", rows: [row("b"), row("both"), row("c")] })
  if (query === "dated") return Effect.succeed({ provider: "test", rows: [{ ...row("a"), published: "2026-10-02" }] })
  return Effect.succeed(query === "nothing" ? found(0) : found(30))
})

const everything = servicesOver(MemoryStorage.layer, providers, { limiter: unlimited }).pipe(
  Layer.provideMerge(everyShape)
)

const calling = Effect.gen(function* () {
  const api = yield* TestApi.make
  const { account, auth } = yield* aCaller({ plan: "business" })
  asked.length = 0
  const used = Effect.flatMap(Ledger, (ledger) => Effect.map(ledger.allowance(account), (allowance) => allowance.used))
  const headers = { ...auth, "content-type": "application/json" }
  return {
    used,
    get: (path: string) => api.get(path, auth),
    post: (path: string, body: object) => api.send("POST", path, { headers, body: JSON.stringify(body) }),
    send: (method: string, path: string) => api.send(method, path)
  }
})

describe("/compat/perplexity with several questions", () => {
  it.effect("R43: each is a search of its own, and their results are combined by rank, each address once", () =>
    Effect.gen(function* () {
      const { post, used } = yield* calling
      const answer = yield* post("/compat/perplexity/search", { query: ["first", "second"], max_results: 4 })
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(
        answer.json.results.map(({ title }: { readonly title: string }) => title),
        ["a", "b", "both", "c"]
      )
      assert.match(answer.json.id, /^bat_/)
      assert.strictEqual(answer.headers.get("x-credits-used"), "2")
      assert.sameMembers(
        asked.map(({ query }) => query),
        ["first", "second"]
      )
      assert.strictEqual(yield* used, 2)
    }).pipe(Effect.provide(everything))
  )

  it.effect("R43: a failed search leaves the others' results, and a failure is never an empty response", () =>
    Effect.gen(function* () {
      const { post } = yield* calling
      const partial = yield* post("/compat/perplexity", { query: ["first", "fail"] })
      assert.lengthOf(partial.json.results, 2)
      const failed = yield* post("/compat/perplexity", { query: ["nothing", "fail"] })
      assert.strictEqual(failed.status, 502)
      assert.strictEqual(failed.json.error, "upstream_error")
    }).pipe(Effect.provide(everything))
  )
})

describe("/compat/brave", () => {
  const path = "/compat/brave/res/v1/web/search"

  it.effect("R43: parameters become a search, and the answer has Brave's form", () =>
    Effect.gen(function* () {
      const { get } = yield* calling
      for (const [query, part, rows] of [
        ["q=css", { num: 20, page: 1, geo: "us", safe: "off" }, 20],
        ["q=css&count=3&offset=1&country=DE&safesearch=strict", { num: 3, page: 2, geo: "de", safe: "strict" }, 3],
        ["q=css&country=ALL&search_lang=pt-br", { geo: "br", locale: "pt-br" }, 20],
        ["q=css&count=0", { num: 1 }, 0]
      ] as const) {
        const answer = yield* get(`${path}?${query}`)
        assert.strictEqual(answer.status, 200, query)
        assert.deepInclude(asked.at(-1), { ...part, source: "compat:brave" }, query)
        assert.lengthOf(answer.json.web.results, rows, query)
      }
      const { json } = yield* get(`${path}?q=css&count=1`)
      assert.deepInclude(json.web.results[0], {
        title: "Title 1",
        url: "https://www.example.com/1",
        description: "Snippet 1"
      })
      assert.strictEqual(json.query.original, "css")
    }).pipe(Effect.provide(everything))
  )

  it.effect("R43: names what is not valid in Brave's own form", () =>
    Effect.gen(function* () {
      const { get } = yield* calling
      const { json, status } = yield* get(`${path}?q=css&count=many`)
      assert.strictEqual(status, 400)
      assert.deepInclude(json.error, { status: 400, code: "VALIDATION" })
      assert.include(json.error.detail, "count")
      assert.strictEqual((yield* get(`${path}?q=css&offset=9`)).status, 400)
    }).pipe(Effect.provide(everything))
  )
})

describe("/compat/serper and /compat/exa", () => {
  it.effect("R43: Serper's fields become a search", () =>
    Effect.gen(function* () {
      const { post } = yield* calling
      const { json, status } = yield* post("/compat/serper/search", { q: "css", gl: "de", hl: "de", num: 2, page: 2 })
      assert.strictEqual(status, 200)
      assert.deepInclude(asked[0], { query: "css", geo: "de", locale: "de-de", num: 2, page: 2 })
      assert.deepStrictEqual(json.organic[0], {
        title: "Title 1",
        link: "https://www.example.com/1",
        snippet: "Snippet 1",
        position: 1
      })
      assert.lengthOf(json.organic, 2)
    }).pipe(Effect.provide(everything))
  )

  it.effect("R43: Exa's fields become a search, and contents are the snippets", () =>
    Effect.gen(function* () {
      const { post } = yield* calling
      const body = { query: "css", numResults: 2, userLocation: "FR", moderation: true, contents: { text: true } }
      const { json, status } = yield* post("/compat/exa/search", body)
      assert.strictEqual(status, 200)
      assert.deepInclude(asked[0], { geo: "fr", num: 2, safe: "strict" })
      assert.lengthOf(json.results, 2)
      assert.deepInclude(json.results[0], { id: "https://www.example.com/1", text: "Snippet 1" })
      const filtered = yield* post("/compat/exa/search", { query: "css", excludeDomains: ["example.com"] })
      assert.lengthOf(filtered.json.results, 0)
      assert.deepInclude(asked.at(-1), { options: { excludeDomains: ["example.com"] } })
      const invalid = yield* post("/compat/exa/search", { query: "css", includeDomains: ["no domain"] })
      assert.strictEqual(invalid.status, 400)
      const plain = yield* post("/compat/exa/search", { query: "css" })
      assert.notProperty(plain.json.results[0], "text")
      assert.isNull(plain.json.results[0].publishedDate)
      const dated = yield* post("/compat/exa/search", { query: "dated" })
      assert.strictEqual(dated.json.results[0].publishedDate, "2026-10-02")
    }).pipe(Effect.provide(everything))
  )
})

describe("what a mount does not do", () => {
  it.effect("R71: a 401 says whether a key was missing or not accepted", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const path = "/compat/brave/res/v1/web/search?q=css"
      const detail = (headers: Record<string, string>) =>
        Effect.map(api.get(path, headers), ({ json }) => String(json.error.detail))
      assert.include(yield* detail({}), "No credential was sent.")
      assert.include(yield* detail({ "x-subscription-token": "sk_live_x" }), "not accepted")
    }).pipe(Effect.provide(everything))
  )

  it.effect("X-Quarry-Ignored names the parameters that had a value and no effect", () =>
    Effect.gen(function* () {
      const { get, post } = yield* calling
      const ignored = (answer: TestApi.Answer) => answer.headers.get("x-quarry-ignored")
      const exa = yield* post("/compat/exa/search", { query: "css", type: "neural", category: "news", user: null })
      assert.strictEqual(ignored(exa), "type, category")
      assert.strictEqual(ignored(yield* get("/compat/searxng?q=css&image_proxy=1&theme=")), "image_proxy")
      assert.isNull(ignored(yield* get("/compat/searxng?q=css")))
      const hostile = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`x${index}`, 1]))
      const long = yield* post("/compat/exa/search", { query: "css", "a\r\nset-cookie: b": 1, ...hostile })
      assert.strictEqual(long.status, 200)
      assert.lengthOf(ignored(long)?.split(", ") ?? [], 20)
      assert.isNull(long.headers.get("set-cookie"))
      const invalid = yield* post("/compat/tavily/search", { include_answer: true })
      assert.deepStrictEqual([invalid.status, ignored(invalid)], [400, "include_answer"])
    }).pipe(Effect.provide(everything))
  )

  it.effect("R43: an unknown path below a mount is 404 in the form that the service's clients read", () =>
    Effect.gen(function* () {
      const { send } = yield* calling
      for (const [method, path, message] of [
        ["POST", "/compat/tavily/crawl", "detail"],
        ["GET", "/compat/tavily/search", "detail"],
        ["GET", "/compat/brave/res/v1/news/search", "error"],
        ["POST", "/compat/serper/images", "message"],
        ["POST", "/compat/exa/findSimilar", "error"],
        ["GET", "/compat/exa", "error"],
        ["POST", "/compat/firecrawl/v1/crawl", "error"],
        ["GET", "/compat/firecrawl/v2/scrape", "error"],
        ["DELETE", "/compat/firecrawl", "error"],
        ["POST", "/compat/jina/https://example.org/", "readableMessage"],
        ["GET", "/compat/jina", "message"],
        ["POST", "/compat/perplexity/chat/completions", "message"],
        ["GET", "/compat/perplexity", "message"],
        ["POST", "/compat/openwebui/other", "message"],
        ["GET", "/compat/openwebui", "message"],
        ["PUT", "/compat/searxng", "message"]
      ] as const) {
        const { json, status } = yield* send(method, path)
        assert.strictEqual(status, 404, path)
        assert.include(JSON.stringify(json[message]), "no route", path)
      }
      const own = yield* send("POST", "/compat/searxng/other")
      assert.deepStrictEqual([own.status, own.json.error], [404, "not_found"])
    }).pipe(Effect.provide(everything))
  )
})
