import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import type { SearchOptions } from "../../../src/domain/options/SearchOptions.ts"
import { fuseLists } from "../../../src/domain/providers/Fusion.ts"
import * as ProviderTrialsFile from "../../../src/layers/providers/described/ProviderTrialsFile.ts"
import * as ProviderFile from "../../../src/layers/providers/ProviderFile.ts"
import { unservedBy } from "../../../src/services/providers/Provider.ts"
import { ProviderTrials } from "../../../src/services/providers/ProviderTrials.ts"
import { firstOf, foundations } from "../../support/api/ProviderTable.ts"
import { searchRequest } from "../../support/api/requests.ts"
import { type Answer, json, serve } from "../../support/servers/UpstreamServer.ts"

const environment = { EXAMPLE_KEY: "s3cret-{query}-value", KEY_ONE: "first-key-1", KEY_TWO: "second-key-2" }

const entry = (url: string, changes: object = {}) => ({
  type: "http",
  request: {
    method: "GET",
    url: `${url}/search`,
    query: {
      q: "{query}",
      count: "{num}",
      offset: "{offset}",
      country: "{geo}",
      lang: "{language}",
      safe: "{safe}",
      from: "{after}"
    },
    headers: { "X-Api-Key": `\${EXAMPLE_KEY}` }
  },
  response: { rows: "web.results", title: "title", url: "url", snippet: "description", published: "page_age" },
  pages: { size: 20, last: 10 },
  values: { safe: { off: "0", moderate: "1" }, geo: ["us", "de"], language: { en: "en-US" } },
  ...changes
})

const fileOf = (provider: object) => ({ providers: { it: provider }, targets: { alpha_search: [{ provider: "it" }] } })

const source = { _tag: "file", path: "providers.json" } as const

const withEnvironment = <A, E, R>(file: unknown, effect: Effect.Effect<A, E, R>) =>
  // Built into the test's scope, because providers use their connections until the test ends.
  Effect.flatMap(
    Layer.build(Layer.mergeAll(foundations(file), ConfigProvider.layer(ConfigProvider.fromEnv({ env: environment })))),
    (context) => Effect.provideContext(effect, context)
  )

const providerOf = (provider: object) =>
  Effect.map(withEnvironment(fileOf(provider), ProviderFile.table(source)), firstOf)

const fault = (provider: object) => Effect.map(Effect.flip(providerOf(provider)), ({ message }) => message)

const rows = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ title: `T${index}`, url: `https://example.test/${index}` }))

const found = (count = 1) => json({ web: { results: rows(count) } })

describe("R86: the request of an http provider", () => {
  it.live("fills placeholders, maps values and leaves out what has none", () =>
    Effect.gen(function* () {
      const { received, url } = yield* serve(found())
      const provider = yield* providerOf(entry(url))
      yield* provider.search(searchRequest({ query: "a&b", geo: "fr", locale: "en-fr", num: 7 }))
      const [request] = received
      assert.deepStrictEqual(Object.fromEntries(request?.query ?? []), {
        q: "a&b",
        count: "7",
        offset: "0",
        lang: "en-US",
        safe: "0"
      })
      assert.strictEqual(request?.headers["x-api-key"], environment.EXAMPLE_KEY)
    })
  )

  it.live("a value that is exactly one placeholder keeps its type, and empty members of a body are left out", () =>
    Effect.gen(function* () {
      const { received, url } = yield* serve(found())
      const body = {
        text: "{query}",
        limit: "{num}",
        label: "n={num}",
        fixed: [1, true, null],
        filters: { from: "{after}", range: { to: "{before}" } },
        languages: ["{language}"],
        sites: "{domains}"
      }
      const request = { method: "POST", url: `${url}/search`, body }
      const provider = yield* providerOf(entry(url, { request, values: {}, pages: { size: 20 } }))
      yield* provider.search(searchRequest({ num: 5 }))
      yield* provider.search(
        searchRequest({ num: 5, options: { after: "2026-01-02", includeDomains: ["a.test", "b.test"] } })
      )
      const sent = received.map((it) => JSON.parse(it.body))
      const plain = { text: "effect typescript", limit: 5, label: "n=5", fixed: [1, true, null], languages: ["en"] }
      assert.deepStrictEqual(sent, [plain, { ...plain, filters: { from: "2026-01-02" }, sites: ["a.test", "b.test"] }])
    })
  )

  it.live("percent-encodes placeholders in a path, and never leaves it", () =>
    Effect.gen(function* () {
      const { received, url } = yield* serve(found())
      const request = { method: "GET", url: `${url}/v1/{query}/rows` }
      const provider = yield* providerOf(entry(url, { request, values: {}, pages: { size: 20 } }))
      yield* provider.search(searchRequest({ query: "../x?y#z" }))
      const dots = yield* Effect.result(provider.search(searchRequest({ query: ".." })))
      assert.strictEqual(Result.isFailure(dots) && dots.failure.reason, "unserved")
      assert.deepStrictEqual(
        received.map(({ path }) => path),
        ["/v1/..%2Fx%3Fy%23z/rows"]
      )
    })
  )

  it.live("a value in a header cannot add a line", () =>
    Effect.gen(function* () {
      const { received, url } = yield* serve(found())
      const request = { method: "GET", url: `${url}/search`, headers: { "X-Query": "q={query}" } }
      const provider = yield* providerOf(entry(url, { request, values: {}, pages: { size: 20 } }))
      yield* provider.search(searchRequest({ query: "a\r\nX-Admin: 1 é" }))
      assert.strictEqual(received[0]?.headers["x-query"], "q=a%0D%0AX-Admin: 1 %C3%A9")
      assert.isUndefined(received[0]?.headers["x-admin"])
    })
  )

  it.live("R13: asks for as many pages as a search needs", () =>
    Effect.gen(function* () {
      const { received, url } = yield* serve(found(10))
      const request = { method: "GET", url: `${url}/search`, query: { q: "{query}", start: "{offset}" } }
      const values = { offset: { 0: 1, 10: 11, 20: 21 } }
      const provider = yield* providerOf(entry(url, { request, values, pages: { size: 10 } }))
      const search = searchRequest({ num: 20 })
      assert.strictEqual((yield* provider.search(search)).length, 20)
      assert.sameMembers(
        received.map(({ query }) => query.get("start")),
        ["1", "11"]
      )
      assert.match(unservedBy(provider, { ...search, page: 3 }) ?? "", /page 3 of 20/)
    })
  )

  it.live("skips searches whose safe level or option it does not have", () =>
    Effect.gen(function* () {
      const provider = yield* providerOf(entry("http://127.0.0.1:9"))
      const unserved = (fields: Parameters<typeof searchRequest>[0]) => unservedBy(provider, searchRequest(fields))
      assert.isUndefined(unserved({ safe: "moderate", options: { after: "2026-01-02" } }))
      assert.include(unserved({ safe: "strict" }) ?? "", "safe strict")
      assert.include(unserved({ options: { before: "2026-01-02" } }) ?? "", "before")
      assert.include(unserved({ options: { topic: "news" } }) ?? "", "topic")
    })
  )

  it.live("uses the next of several keys if one is refused by a rule of the description", () =>
    Effect.gen(function* () {
      const respond: Answer = (received, response) =>
        (received.headers.authorization === "Bearer first-key-1"
          ? json({ error: { code: "INVALID_KEY" } }, 422)
          : found())(received, response)
      const { received, url } = yield* serve(respond)
      const provider = yield* providerOf(
        entry(url, {
          request: {
            method: "GET",
            url: `${url}/search`,
            query: { q: "{query}" },
            headers: { authorization: "Bearer {apiKey}" }
          },
          values: {},
          pages: { size: 20 },
          apiKeys: [`\${KEY_ONE}`, `\${KEY_TWO}`],
          refusals: [{ status: 422, at: "error.code", is: "INVALID_KEY", reason: "unauthorized" }]
        })
      )
      assert.strictEqual((yield* provider.search(searchRequest())).length, 1)
      assert.strictEqual(received.length, 2)
    })
  )
})

describe("R86: the response of an http provider", () => {
  const reasonOf = (respond: Answer, changes: object = {}) =>
    Effect.gen(function* () {
      const { url } = yield* serve(respond)
      const result = yield* Effect.result((yield* providerOf(entry(url, changes))).search(searchRequest()))
      return Result.isSuccess(result) ? result.success.length : result.failure.reason
    })

  it.live("R14: JSON without the expected form is malformed, and a count of zero is an answer", () =>
    Effect.gen(function* () {
      for (const body of [{}, [], { unrelated: true }, null, "text", { web: { results: "none" } }])
        assert.strictEqual(yield* reasonOf(json(body)), "malformed", JSON.stringify(body))
      for (const body of [{ web: { results: [] } }, { web: {} }, { meta: { totalResults: "0" } }])
        assert.strictEqual(yield* reasonOf(json(body)), 0, JSON.stringify(body))
    })
  )

  it.live("an error in the body of a 200 is refused by its words or by a rule", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* reasonOf(json({ error: "Invalid API key" })), "unauthorized")
      const refusals = [{ status: 200, at: "code", is: 17, reason: "quota" }]
      assert.strictEqual(yield* reasonOf(json({ code: 17 }), { refusals }), "quota")
    })
  )

  it.live("statuses have the reasons that the description gives them", () =>
    Effect.gen(function* () {
      const refusals = [
        { status: 403, at: "type", is: "blocked", reason: "blocked" },
        { status: 403, reason: "quota" }
      ]
      assert.strictEqual(yield* reasonOf(json({ type: "blocked" }, 403), { refusals }), "blocked")
      assert.strictEqual(yield* reasonOf(json({}, 403), { refusals }), "quota")
      assert.strictEqual(yield* reasonOf(json({}, 401), { refusals }), "unauthorized")
    })
  )

  it.live("reads the first text of several paths, addresses from parts, and documented dates only", () =>
    Effect.gen(function* () {
      const { url } = yield* serve(
        json([
          { id: "a b/c", names: ["", "Name"], at: 1_349_956_742, text: null },
          { id: 7, names: ["First"], at: "2026-01-02T03:04:05+01:00" },
          { id: "x", names: [], at: "3 days ago" },
          { names: ["without an address"] }
        ])
      )
      const response = {
        rows: "",
        url: ["link", "https://example.test/page/{id}?from={id}"],
        title: ["names.0", "names.1"],
        snippet: "text",
        published: "at"
      }
      const provider = yield* providerOf(entry(url, { response }))
      const found = yield* provider.search(searchRequest())
      assert.deepStrictEqual(
        found.map(({ published, title, url }) => [url, title, published]),
        [
          ["https://example.test/page/a%20b%2Fc?from=a%20b%2Fc", "Name", "2012-10-11T11:59:02Z"],
          ["https://example.test/page/7?from=7", "First", "2026-01-02T02:04:05Z"],
          ["https://example.test/page/x?from=x", "", undefined]
        ]
      )
      assert.strictEqual(fuseLists([found, found]).length, 3)
    })
  )
})

describe("R86: search options of an http provider", () => {
  const today = "2026-11-28"
  const query = {
    q: "{query}",
    from: "{after}",
    to: "{before}",
    period: "{days}",
    sites: "{domains}",
    without: "{excludedDomains}",
    kind: "web"
  }
  const described = (url: string, changes: object = {}) =>
    entry(url, {
      request: { method: "GET", url: `${url}/search`, query },
      values: { days: { 7: "week" } },
      pages: { size: 10 },
      ...changes
    })

  /** The parameters sent for a search with these options. */
  const sentFor = (options: SearchOptions, changes: object = {}) =>
    Effect.gen(function* () {
      const { received, url } = yield* serve(found())
      const provider = yield* providerOf(described(url, changes))
      yield* provider.search(searchRequest({ query: "cats", options }))
      const sent: Record<string, string | undefined> = Object.fromEntries(received[0]?.query ?? [])
      const shown: typeof sent = { path: received[0]?.path, ...sent }
      return shown
    })

  const plain: Record<string, string> = { path: "/search", q: "cats", kind: "web" }

  it.effect("a period that is mapped is sent once, and any other as a date", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse(`${today}T10:00:00Z`))
      assert.deepStrictEqual(yield* sentFor({ freshness: "week" }), { ...plain, period: "week" })
      assert.deepStrictEqual(yield* sentFor({ freshness: "day" }), { ...plain, from: "2026-11-27" })
      const dates = { after: "2026-11-22", before: today }
      assert.deepStrictEqual(yield* sentFor(dates), { ...plain, from: dates.after, to: today })
    })
  )

  it.live("domains are lists, or operators in the query", () =>
    Effect.gen(function* () {
      const options = { includeDomains: ["a.test", "b.test"], excludeDomains: ["c.a.test"] }
      assert.deepStrictEqual(yield* sentFor(options), { ...plain, sites: "a.test,b.test", without: "c.a.test" })
      const { domains: _, ...others } = { domains: "", q: "{query}", kind: "web" }
      const changes = (url: string) => ({ request: { method: "GET", url, query: others }, values: {} })
      const { received, url } = yield* serve(found())
      const provider = yield* providerOf(
        described(url, { ...changes(`${url}/search`), operators: { or: "OR", exclude: true } })
      )
      yield* provider.search(searchRequest({ query: "cats", options }))
      assert.strictEqual(received[0]?.query.get("q"), "cats (site:a.test OR site:b.test) -site:c.a.test")
      const single = yield* providerOf(described(url, { ...changes(`${url}/search`), operators: {} }))
      assert.include(unservedBy(single, searchRequest({ options })) ?? "", "include_domains")
    })
  )

  it.live("news replaces members of the request and the response, and null leaves one out", () =>
    Effect.gen(function* () {
      const { received, url } = yield* serve(
        json({ news: [{ url: "https://n.test/", title: "N", page_age: "1 day ago" }] })
      )
      const news = {
        request: { url: `${url}/news`, query: { kind: null, section: "top" } },
        response: { rows: "news", dates: "english" }
      }
      const provider = yield* providerOf(described(url, { news }))
      const [row] = yield* provider.search(searchRequest({ query: "cats", options: { topic: "news" } }))
      assert.deepStrictEqual(
        { path: received[0]?.path, ...Object.fromEntries(received[0]?.query ?? []) },
        { path: "/news", q: "cats", section: "top" }
      )
      assert.match(row?.published ?? "", /^\d{4}-\d\d-\d\d$/)
      const withoutNews = yield* providerOf(described(url))
      assert.include(unservedBy(withoutNews, searchRequest({ options: { topic: "news" } })) ?? "", "topic")
    })
  )

  it.live("an error that means that nothing was found is an answer without rows", () =>
    Effect.gen(function* () {
      const refusals = [{ status: 400, at: "code", is: "NO_RESULT", reason: "nothing" }]
      const { url } = yield* serve(json({ code: "NO_RESULT" }, 400))
      const provider = yield* providerOf(described(url, { refusals }))
      assert.deepStrictEqual(yield* provider.search(searchRequest()), [])
    })
  )

  it.live("a documented refusal of the search does not count towards a cool-down, whatever its status", () =>
    Effect.gen(function* () {
      const refusals = [{ status: 403, at: "code", is: "PROHIBITED", reason: "malformed" }]
      const { url } = yield* serve(json({ code: "PROHIBITED" }, 403))
      const provider = yield* providerOf(described(url, { refusals }))
      const outcome = yield* Effect.result(provider.search(searchRequest()))
      assert.isTrue(Result.isFailure(outcome) && outcome.failure.isOfSearch)
    })
  )
})

describe("R86: a mistake in a description", () => {
  const base = entry("https://api.example.com")
  const request = base.request
  const mistakes: ReadonlyArray<readonly [string, object, string]> = [
    ["an unknown member", { cache: true }, "providers.it.cache is not allowed here"],
    [
      "an unknown member of the request",
      { request: { ...request, verb: "GET" } },
      "request.verb is not allowed here; allowed are method, url, query, headers, body"
    ],
    ["another method", { request: { ...request, method: "PUT" } }, "request.method must be GET or POST"],
    [
      "an unknown placeholder",
      { request: { ...request, query: { q: "{search}" } } },
      "request.query.q has {search}, which is not a placeholder; allowed are {query}"
    ],
    [
      "a placeholder in the host",
      { request: { ...request, url: "https://{query}.example.com/" } },
      "request.url must be an http(s) address"
    ],
    [
      "plain HTTP",
      { request: { ...request, url: "http://api.example.com/" } },
      'request.url must begin with https unless "insecure" is true'
    ],
    [
      "a request without the query",
      { request: { ...request, query: {} }, values: {}, pages: { size: 5 } },
      "request must contain {query}"
    ],
    ["an expression as a path", { response: { rows: "$.web[*]", url: "url" } }, "response.rows must be a dotted path"],
    [
      "an unknown reason",
      { refusals: [{ status: 403, reason: "denied" }] },
      "refusals.0.reason must be one of blocked, quota"
    ],
    ["at without is", { refusals: [{ status: 403, at: "code", reason: "quota" }] }, "refusals.0.is is missing"],
    [
      "a country that does not exist",
      { values: { geo: ["xx"] } },
      "values.geo must be an object or a list of countries"
    ],
    [
      "values without a placeholder",
      { values: { page: { 1: 0 } } },
      "values.page maps {page}, which the request does not contain"
    ],
    [
      "a variable that is not set",
      { request: { ...request, headers: { a: `\${NONE}` } } },
      "request.headers.a names the environment variable NONE, which is not set"
    ],
    ["a key that is not sent", { apiKey: "k" }, "request must contain {apiKey}"],
    [
      "a header that splits the request",
      { request: { ...request, headers: { "Content-Length": "1" } } },
      "request.headers.Content-Length is not allowed"
    ],
    ["a body with GET", { request: { ...request, body: {} } }, "request.body is only allowed with POST"],
    [
      "operators beside a list of domains",
      { request: { ...request, query: { ...request.query, d: "{domains}" } }, operators: {} },
      "operators cannot be combined with {domains} in the request"
    ],
    [
      "exclusions without a list of domains",
      { request: { ...request, query: { ...request.query, d: "{excludedDomains}" } } },
      "request must contain {domains}, because it contains {excludedDomains}"
    ],
    ["news without the query", { news: { request: { query: { q: null } } } }, "news.request must contain {query}"],
    [
      "dates in another language",
      { response: { ...base.response, dates: "german" } },
      "response.dates must be iso or english"
    ],
    ["pages of no size", { pages: { size: 0 } }, "pages.size must be a whole number from 1 to 100"]
  ]
  for (const [what, changes, expected] of mistakes) {
    it.live(`${what} is one line that names the provider and the member`, () =>
      Effect.gen(function* () {
        const message = yield* fault({ ...base, ...changes })
        assert.include(message, expected)
        assert.strictEqual(message.split("\n").length, 1, message)
        assert.isTrue(message.startsWith("QUARRY_PROVIDERS (providers.json): providers.it"), message)
        assert.notInclude(message, environment.EXAMPLE_KEY)
      })
    )
  }
})

describe("R86: providers try", () => {
  const attempt = (respond: Answer, changes: object = {}) =>
    Effect.gen(function* () {
      const { url } = yield* serve(respond)
      const file = fileOf(entry(url, changes))
      return yield* Effect.flatMap(ProviderTrials, (trials) => trials.run("it", searchRequest({ query: "cats" }))).pipe(
        Effect.provide(ProviderTrialsFile.layer({ path: "providers.json", timeoutMs: 5_000 })),
        (effect) => withEnvironment(file, effect)
      )
    })

  it.live("shows the request without secrets, the status and the rows", () =>
    Effect.gen(function* () {
      const echo = json({ web: { results: [{ ...rows(1)[0], title: `echo ${environment.EXAMPLE_KEY}` }] } })
      const trial = yield* attempt(echo)
      assert.strictEqual(trial.status, 200)
      assert.match(trial.request.url, /\/search\?q=cats&count=10&offset=0&country=us&lang=en-US&safe=0$/)
      assert.strictEqual(trial.request.headers["x-api-key"], `\${EXAMPLE_KEY}`)
      assert.strictEqual(trial.rows.length, 1)
      assert.notInclude(JSON.stringify(trial), environment.EXAMPLE_KEY)
    })
  )

  it.live("names the members that are there for a path that finds nothing", () =>
    Effect.gen(function* () {
      const trial = yield* attempt(json({ web: { items: [], total: 1 } }))
      assert.deepStrictEqual(trial.missing, [
        { member: "response.rows", path: "web.results", found: "web", members: ["items", "total"] }
      ])
      const inRow = yield* attempt(json({ web: { results: [{ link: "https://a.test/", name: "A" }] } }))
      assert.deepStrictEqual(inRow.missing[0], {
        member: "response.url",
        path: "url",
        found: "",
        members: ["link", "name"]
      })
    })
  )

  it.live("hides credentials that the file has in plain text", () =>
    Effect.gen(function* () {
      const trial = yield* attempt(found(), {
        request: { method: "POST", url: "http://127.0.0.1:9/", body: { q: "{query}", auth: { api_key: "plain-1" } } },
        values: {},
        pages: { size: 20 }
      })
      assert.deepStrictEqual(trial.request.body, { q: "cats", auth: { api_key: "(hidden)" } })
      assert.strictEqual(trial.refusal?.reason, "unreachable")
    })
  )
})
