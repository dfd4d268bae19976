import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric, References, Schema, Tracer } from "effect"
import { UpstreamError, UpstreamTimeout } from "../../src/domain/errors.ts"
import { unsentError } from "../../src/domain/providers/Unsent.ts"
import { SearchResult } from "../../src/domain/search/SearchResult.ts"
import { Ledger } from "../../src/services/credits/Ledger.ts"
import { NamedTargets } from "../../src/services/providers/NamedTargets.ts"
import { mcpMessages } from "../../src/services/telemetry/Metrics.ts"
import { MemoryStore } from "../../src/testing/MemoryStore.ts"
import { SignedIn } from "../../src/testing/SessionsMemory.ts"
import { callTool, currentCall, initialize, post, request, toolCall } from "../support/api/Mcp.ts"
import { aCaller, demoOrigin, found, marketplaceSecret, providing, services } from "../support/api/Services.ts"
import { discrepanciesOf } from "../support/api/searches.ts"
import * as TestApi from "../support/api/TestApi.ts"
import { startingAt } from "../support/Time.ts"

const layer = services(
  providing(({ query }) => {
    if (query === "unsent") return Effect.fail(unsentError(new Set(["cool_down"])))
    if (query === "fail") return Effect.fail(new UpstreamError({ message: "The provider is down." }))
    if (query === "late") return Effect.fail(new UpstreamTimeout({ message: "The provider was too slow." }))
    if (query === "boom") return Effect.die("boom")
    return Effect.succeed(found(query === "nothing" ? 0 : 10))
  })
)

const document = JSON.parse(readFileSync(new URL("../../openapi.json", import.meta.url), "utf8"))

/** The schema with every reference replaced by what it refers to. */
const inlined = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(inlined)
  if (typeof value !== "object" || value === null) return value
  if ("$ref" in value) return inlined(document.components.schemas[String(value.$ref).split("/").at(-1) ?? ""])
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inlined(item)]))
}

const listed = Effect.gen(function* () {
  const api = yield* TestApi.make
  const { auth } = yield* aCaller({ plan: "trial" })
  const { tools } = (yield* post(api, auth, request("tools/list"))).json.result
  return Object.fromEntries(tools.map((tool: { name: string }) => [tool.name, tool]))
})

/** The description of a field in the HTTP API, without the list of countries. */
const withoutCountries = ({ enum: countries, ...rest }: Record<string, unknown>) =>
  Array.isArray(countries) && countries.length > 100 ? rest : { ...rest, ...(countries ? { enum: countries } : {}) }

describe("the tools' descriptions", () => {
  it.effect("R73: web_search names the operator's targets, and nothing more without them", () =>
    Effect.gen(function* () {
      const named = Layer.succeed(NamedTargets, {
        alpha_search: { name: "General web", about: "All languages" },
        beta_search: { name: "Intranet" }
      })
      const described = (yield* Effect.provide(listed, named)).web_search.description
      const plain = (yield* listed).web_search.description
      assert.strictEqual(
        described,
        `${plain} Targets: alpha_search (General web): All languages. beta_search (Intranet).`
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("web_search takes what GET /v1/query takes, and max_characters", () =>
    Effect.gen(function* () {
      const { properties, required } = (yield* listed).web_search.inputSchema
      const { max_characters, ...fields } = properties
      const parameters: ReadonlyArray<{
        readonly in: string
        readonly name: string
        readonly description: string
        readonly schema: Record<string, unknown>
      }> = document.paths["/v1/query"].get.parameters
      const fieldsOfQuery = parameters.filter((parameter) => parameter.in === "query")
      const expected = fieldsOfQuery.map(({ description, name, schema }) => [
        name,
        withoutCountries({ ...schema, description })
      ])
      const { exclude_domains, include_domains, ...same } = fields
      const { exclude_domains: excluded, include_domains: included, ...others } = Object.fromEntries(expected)
      assert.deepStrictEqual(same, others)
      // Lists are arrays in JSON, and text with commas in a query string.
      for (const [list, text] of [
        [exclude_domains, excluded],
        [include_domains, included]
      ]) {
        assert.deepStrictEqual([list.type, list.maxItems, text.type], ["array", 20, "string"])
        assert.strictEqual(text.description, `${list.description} Separate several by commas.`)
      }
      assert.deepStrictEqual(required, ["query"])
      assert.strictEqual(max_characters.type, "integer")
    }).pipe(Effect.provide(layer))
  )

  it.effect("bulk_search takes the fields of POST /v1/bulk, and max_characters", () =>
    Effect.gen(function* () {
      const { properties, required } = (yield* listed).bulk_search.inputSchema
      const { BulkRequest, BulkRow } = document.components.schemas
      assert.sameMembers(Object.keys(properties), [...Object.keys(BulkRequest.properties), "max_characters"])
      assert.deepStrictEqual(required, BulkRequest.required)
      const [text, row] = properties.queries.items.anyOf
      assert.deepStrictEqual(text, BulkRow.properties.query)
      assert.sameMembers(Object.keys(row.properties), Object.keys(BulkRow.properties))
      assert.strictEqual(properties.queries.maxItems, BulkRequest.properties.queries.maxItems)
    }).pipe(Effect.provide(layer))
  )

  it.effect("what they answer is what the HTTP API answers", () =>
    Effect.gen(function* () {
      const { account, bulk_search, web_search } = yield* listed
      const bodyOf = (path: string, method: string) =>
        inlined(document.paths[path][method].responses["200"].content["application/json"].schema)
      assert.deepStrictEqual(web_search.outputSchema, bodyOf("/v1/query", "get"))
      assert.deepStrictEqual(bulk_search.outputSchema, bodyOf("/v1/bulk", "post"))
      const me = inlined(document.components.schemas.Account) as { properties: Record<string, unknown> }
      assert.deepInclude(account.outputSchema.properties, me.properties)
    }).pipe(Effect.provide(layer))
  )

  it.effect("say in words and hints that they read, and which of them read the open web", () =>
    Effect.gen(function* () {
      const tools = yield* listed
      assert.sameMembers(Object.keys(tools), ["web_search", "bulk_search", "read_page", "account"])
      for (const [name, { annotations, description, inputSchema, outputSchema, title }] of Object.entries(tools)) {
        assert.isAbove(description.length, 60, name)
        assert.isNotEmpty(title, name)
        assert.strictEqual(inputSchema.type, "object")
        assert.strictEqual(outputSchema.type, "object")
        assert.notInclude(JSON.stringify([inputSchema, outputSchema]), "$ref", "not every client follows references")
        assert.deepInclude(annotations, { readOnlyHint: true, destructiveHint: false, idempotentHint: true })
        assert.strictEqual(annotations.openWorldHint, name !== "account")
      }
    }).pipe(Effect.provide(layer))
  )
})

describe("web_search", () => {
  it.effect("answers both forms, is charged once, and is logged with the source mcp (R11)", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const store = yield* MemoryStore
      const { account, auth } = yield* aCaller({ plan: "trial" })
      const result = yield* callTool(api, auth, "web_search", { query: " css  grid ", geo: "DE", num: 2 })
      assert.isUndefined(result.isError)
      const structured = yield* Schema.decodeUnknownEffect(SearchResult)(result.structuredContent)
      assert.deepInclude(structured, { query: "css grid", geo: "de", locale: "de-de", page: 1 })
      assert.strictEqual(structured.results.organic.length, 2)
      assert.strictEqual(
        result.content[0].text,
        '2 results for "css grid" (alpha_search, de, de-de, page 1)\n\n' +
          "1. Title 1\nhttps://www.example.com/1\nSnippet 1\n\n2. Title 2\nhttps://www.example.com/2\nSnippet 2"
      )
      assert.deepStrictEqual(
        store.queries.map(({ credits, request }) => [request.source, credits]),
        [["mcp", 1]]
      )
      assert.strictEqual((yield* Effect.flatMap(Ledger, (ledger) => ledger.allowance(account))).used, 1)
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    }).pipe(Effect.provide(layer))
  )

  it.effect("serves pages and safe search, and keeps a source that is given", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const store = yield* MemoryStore
      const { auth } = yield* aCaller({ plan: "trial" })
      const args = { query: "a", page: 2, safe: "strict", source: "my agent" } as const
      assert.strictEqual((yield* callTool(api, auth, "web_search", args)).structuredContent.page, 2)
      assert.deepInclude(store.queries[0]?.request, args)
    }).pipe(Effect.provide(layer))
  )

  it.effect("max_characters bounds the text and counts what is left out; the structured content is whole", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { auth } = yield* aCaller({ plan: "trial" })
      const { content, structuredContent } = yield* callTool(api, auth, "web_search", {
        query: "a",
        max_characters: 220
      })
      const [{ text }] = content
      assert.isAtMost(text.length, 220)
      assert.match(text, /1\. Title 1\n/)
      assert.match(text, /\(8 more left out: raise max_characters to see them\)$/)
      assert.strictEqual(structuredContent.results.organic.length, 10)
    }).pipe(Effect.provide(layer))
  )

  it.effect("R6: mistakes in all arguments are reported together, and nothing is charged", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const store = yield* MemoryStore
      const { auth } = yield* aCaller({ plan: "trial" })
      const wrong = {
        query: "",
        target: "google",
        num: "many",
        page: 1.5,
        safe: 1,
        locale: "english",
        max_characters: 0
      }
      const { _meta, content, isError, structuredContent } = yield* callTool(api, auth, "web_search", wrong)
      assert.isTrue(isError)
      assert.isUndefined(structuredContent, "clients hold it to the output schema")
      const { error, issues, request_id } = _meta["quarry/error"]
      assert.strictEqual(error, "invalid_request")
      assert.sameMembers(
        issues.map(({ field }: { field: string }) => field),
        Object.keys(wrong)
      )
      assert.match(content[0].text, /^invalid_request: .*max_characters must be a whole number/)
      assert.include(content[0].text, request_id)
      assert.deepStrictEqual(store.queries, [])
    }).pipe(Effect.provide(layer))
  )

  const refusals: ReadonlyArray<readonly [string, unknown, string]> = [
    ["no arguments", undefined, "invalid_request"],
    ["no query", {}, "invalid_request"],
    ["a number in words", { query: "a", num: "three" }, "invalid_request"],
    ["page 6 of a target with 5 (R7)", { query: "a", page: 6 }, "invalid_request"],
    ["page 2 of a target with 1", { query: "a", target: "beta_search", page: 2 }, "unsupported_parameter"],
    ["safe where it is not served", { query: "a", target: "zeta_search", safe: "strict" }, "unsupported_parameter"],
    ["an unknown country (R8)", { query: "a", geo: "zz" }, "unsupported_geo"]
  ]
  for (const [name, args, code] of refusals) {
    it.effect(`${name} is ${code}, as over HTTP`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        const store = yield* MemoryStore
        const { auth } = yield* aCaller({ plan: "trial" })
        const { _meta, isError } = yield* callTool(api, auth, "web_search", args)
        assert.isTrue(isError)
        assert.strictEqual(_meta["quarry/error"].error, code)
        assert.deepStrictEqual(store.queries, [])
      }).pipe(Effect.provide(layer))
    )
  }

  it.effect("I4: upstream failures are told and charged, defects are told and are not", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { account, auth } = yield* aCaller({ plan: "trial" })
      const codes = yield* Effect.forEach(["fail", "late", "boom"], (query) =>
        Effect.map(callTool(api, auth, "web_search", { query }), ({ _meta, content, isError }) => {
          assert.isTrue(isError)
          return [_meta["quarry/error"].error, /One credit was charged/.test(content[0].text)]
        })
      )
      assert.deepStrictEqual(codes, [
        ["upstream_error", true],
        ["upstream_timeout", true],
        ["internal_error", false]
      ])
      assert.strictEqual((yield* Effect.flatMap(Ledger, (ledger) => ledger.allowance(account))).used, 2)
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    }).pipe(Effect.provide(layer), Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.effect("R76: web_search and bulk_search neither charge nor log what no provider was asked, and say so", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const store = yield* MemoryStore
      const { account, auth } = yield* aCaller({ plan: "trial" })
      const single = yield* post(api, auth, toolCall("web_search", { query: "unsent" }))
      assert.strictEqual(single.headers.get("x-credits-used") ?? "0", "0")
      const { _meta, content, isError } = single.json.result
      assert.isTrue(isError)
      assert.strictEqual(_meta["quarry/error"].error, "upstream_error")
      assert.match(
        content[0].text,
        /^upstream_error: No search provider was asked, .*\nNothing was charged\. Wait 60 s/
      )
      const batch = yield* callTool(api, auth, "bulk_search", { queries: ["unsent", "a"] })
      assert.deepInclude(batch.structuredContent, { total: 2, succeeded: 1, failed: 1 })
      assert.match(batch.structuredContent.results[0].message, /^No search provider was asked/)
      assert.match(batch.content[0].text, /No search provider was asked, .* Nothing was charged/)
      assert.deepStrictEqual(
        store.queries.map(({ request }) => request.query),
        ["a"]
      )
      assert.strictEqual((yield* Effect.flatMap(Ledger, (ledger) => ledger.allowance(account))).used, 1)
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    }).pipe(Effect.provide(layer))
  )

  it.effect("quota_exceeded says when the quota resets, and on the trial that it does not", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const monthly = yield* aCaller({ plan: "starter", quota: 1 })
      const trial = yield* aCaller({ plan: "trial", quota: 0 })
      yield* callTool(api, monthly.auth, "web_search", { query: "a" })
      const spent = yield* callTool(api, monthly.auth, "web_search", { query: "a" })
      const envelope = spent._meta["quarry/error"]
      assert.deepInclude(envelope, { error: "quota_exceeded", plan: "starter", quota: 1, remaining: 0 })
      assert.strictEqual(envelope.resets_at, "2026-04-01T00:00:00.000Z")
      assert.match(spent.content[0].text, /before the quota resets at 2026-04-01T00:00:00\.000Z, in 1900800 seconds\./)
      assert.include(spent.content[0].text, "more credits at http://quarry.test/dashboard/billing.")
      const never = yield* callTool(api, trial.auth, "bulk_search", { queries: ["a"] })
      assert.match(never.content[0].text, /^quota_exceeded: .*\nDo not call again: the trial's quota does not reset/)
    }).pipe(Effect.provide(layer), startingAt("2026-03-10T00:00:00Z"))
  )

  it.effect("a credential among the arguments is nothing: neither used nor stored", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const store = yield* MemoryStore
      const caller = yield* aCaller({ plan: "trial" })
      const other = yield* aCaller({ plan: "trial" })
      const secrets = { api_key: other.secret, authorization: `Bearer ${other.secret}`, accountId: other.account.id }
      yield* callTool(api, caller.auth, "web_search", { query: "a", ...secrets })
      assert.deepStrictEqual(
        store.queries.map(({ accountId }) => accountId),
        [caller.account.id]
      )
      assert.notInclude(JSON.stringify(store.queries), other.secret)
      assert.strictEqual((yield* post(api, {}, toolCall("web_search", { query: "a", ...secrets }))).status, 401)
    }).pipe(Effect.provide(layer))
  )
})

describe("bulk_search", () => {
  it.effect("answers rows in order, charges what ran, and logs the source mcp", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const store = yield* MemoryStore
      const { account, auth } = yield* aCaller({ plan: "trial" })
      const queries = ["a", { query: "b", num: 1, source: "own" }, "", "fail", "boom"]
      const { content, structuredContent } = yield* callTool(api, auth, "bulk_search", { queries })
      assert.deepInclude(structuredContent, { total: 5, succeeded: 2, failed: 3 })
      assert.deepStrictEqual(
        structuredContent.results.map((row: { status: string; error?: string }) => row.error ?? row.status),
        ["ok", "ok", "invalid_request", "upstream_error", "internal_error"]
      )
      assert.match(content[0].text, /^5 searches: 2 answered, 3 failed\n/)
      assert.match(content[0].text, /Search 3: invalid_request: /)
      assert.sameMembers(
        store.queries.map(({ request }) => request.source),
        ["mcp", "own", "mcp"]
      )
      const [requestId, ...others] = new Set(store.queries.map(({ requestId }) => requestId))
      assert.deepStrictEqual(others, [])
      assert.match(requestId ?? "", /^[0-9a-f-]{36}$/)
      assert.strictEqual((yield* Effect.flatMap(Ledger, (ledger) => ledger.allowance(account))).used, 3)
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    }).pipe(Effect.provide(layer), Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.effect("R16: a body that is wrong is refused as a whole", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { auth } = yield* aCaller({ plan: "trial" })
      for (const args of [undefined, {}, { queries: [] }, { queries: 5 }, { queries: Array(51).fill("a") }]) {
        const { _meta } = yield* callTool(api, auth, "bulk_search", args)
        assert.strictEqual(_meta["quarry/error"].issues[0].field, "queries")
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("R81: tools read arguments as models write them, and the REST API does not", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const api = yield* TestApi.make
      const { auth } = yield* aCaller({ plan: "trial" })
      const written = { query: "css", num: "3", geo: null, freshness: null, include_domains: "example.com", page: null }
      const one = yield* callTool(api, auth, "web_search", { ...written, max_characters: "2000", source: null })
      assert.strictEqual(one.structuredContent.results.organic.length, 3)
      const rows = [
        { query: "grid", num: "2", locale: null, exclude_domains: "a.org" },
        { query: "flex", page: null }
      ]
      const many = yield* callTool(api, auth, "bulk_search", { queries: rows, num: "1", target: null })
      assert.deepStrictEqual(
        many.structuredContent.results.map(({ results }: { results: { organic: [] } }) => results.organic.length),
        [2, 1]
      )
      const single = yield* callTool(api, auth, "bulk_search", { queries: "css" })
      assert.strictEqual(single.structuredContent.succeeded, 1)
      assert.strictEqual(store.queries.length, 4)
      for (const args of [{ query: null }, { query: "q", num: "five" }, { query: "q", num: "99" }, { query: 5 }]) {
        assert.strictEqual(
          (yield* callTool(api, auth, "web_search", args))._meta["quarry/error"].error,
          "invalid_request"
        )
      }
      const headers = { ...auth, "content-type": "application/json" }
      for (const row of [
        { query: "q", num: "5" },
        { query: "q", geo: null }
      ]) {
        const { json } = yield* api.send("POST", "/v1/bulk", { headers, body: JSON.stringify({ queries: [row] }) })
        assert.strictEqual(json.results[0].error, "invalid_request")
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("the example in the description of bulk_search has objects, which every client can send", () =>
    Effect.gen(function* () {
      const { description } = (yield* listed).bulk_search
      const [example = ""] = /\{"queries".*?\]\}/.exec(description) ?? []
      for (const entry of JSON.parse(example).queries) assert.isString(entry.query)
    }).pipe(Effect.provide(layer))
  )

  it.effect("no row crowds out the others of a bounded text", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { auth } = yield* aCaller({ plan: "trial" })
      const args = { queries: ["a", "b", "c"], max_characters: 900 }
      const [{ text }] = (yield* callTool(api, auth, "bulk_search", args)).content
      assert.isAtMost(text.length, 900)
      for (const n of [1, 2, 3]) assert.match(text, new RegExp(`Search ${n}: 10 results for`))
    }).pipe(Effect.provide(layer))
  )
})

describe("account", () => {
  it.effect("tells plan, credits and reset, costs nothing, and names the calling key", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { account, auth, principal } = yield* aCaller({ plan: "starter" })
      yield* callTool(api, auth, "web_search", { query: "a" })
      const { content, structuredContent } = yield* callTool(api, auth, "account")
      const me = (yield* api.get("/v1/me", auth)).json
      assert.deepStrictEqual(structuredContent, {
        ...me,
        quota_remaining: 4999,
        balance: 0,
        resets_at: "2026-04-01T00:00:00.000Z"
      })
      assert.strictEqual(me.api_key.id, principal._tag === "key" ? principal.key.id : undefined)
      assert.match(content[0].text, /^4999 credits available/)
      assert.strictEqual((yield* Effect.flatMap(Ledger, (ledger) => ledger.allowance(account))).used, 1)
    }).pipe(Effect.provide(layer), startingAt("2026-03-10T00:00:00Z"))
  )
})

describe("the span of a message", () => {
  it.effect("names its method, revision, client and tool, and what came of it", () =>
    Effect.gen(function* () {
      const spans: Array<Tracer.NativeSpan> = []
      const counters = [
        mcpMessages.of("initialize", "2025-03-26"),
        mcpMessages.of("tools/call", "2026-07-28"),
        mcpMessages.of("other", "none")
      ]
      const counts = Effect.forEach(counters, (counter) => Effect.map(Metric.value(counter), ({ count }) => count))
      const before = yield* counts
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      yield* Effect.gen(function* () {
        const api = yield* TestApi.make
        const { auth } = yield* aCaller({ plan: "trial" })
        yield* callTool(api, auth, "web_search", { query: "a" })
        yield* callTool(api, auth, "web_search", { query: "fail" })
        yield* post(api, { ...auth, "mcp-protocol-version": "2025-06-18" }, toolCall("web_search", { query: "boom" }))
        yield* post(api, auth, toolCall("no such tool"))
        yield* post(api, auth, initialize("2025-03-26"))
        yield* post(api, auth, `[${request("a caller's method")},${toolCall("account", {}, 2)}]`)
        const { body, headers } = currentCall(
          "account",
          {},
          {
            "io.modelcontextprotocol/clientInfo": { name: "x".repeat(100), version: "1" }
          }
        )
        yield* post(api, { ...auth, ...headers }, body)
      }).pipe(Effect.provideService(Tracer.Tracer, tracer))
      const messages = spans.filter(({ name }) => name === "Mcp.message")
      const call = (revision: string) => ({ "mcp.method.name": "tools/call", "mcp.protocol.version": revision })
      const search = { "quarry.tool": "web_search" }
      const account = { "quarry.tool": "account", "quarry.outcome": "ok" }
      assert.deepStrictEqual(
        messages.map(({ attributes }) => Object.fromEntries(attributes)),
        [
          { ...call("none"), ...search, "quarry.outcome": "ok" },
          { ...call("none"), ...search, "quarry.outcome": "upstream_error", "error.type": "upstream_error" },
          { ...call("2025-06-18"), ...search, "quarry.outcome": "internal_error", "error.type": "internal_error" },
          call("none"),
          { "mcp.method.name": "initialize", "mcp.protocol.version": "2025-03-26", "quarry.mcp.client": "test" },
          { "mcp.method.name": "other", "mcp.protocol.version": "none" },
          { ...call("none"), ...account },
          { ...call("2026-07-28"), "quarry.mcp.client": "x".repeat(64), ...account }
        ]
      )
      for (const { parent } of messages) assert.isTrue(parent._tag === "Some", "a part of its request")
      const after = yield* counts
      assert.deepStrictEqual(
        after.map((count, index) => count - (before[index] ?? 0)),
        [1, 1, 1],
        "each is counted by its method and revision"
      )
    }).pipe(Effect.provide(layer), Effect.provideService(References.MinimumLogLevel, "None"))
  )
})

describe("who may call", () => {
  const ping = request("ping")

  it.effect("R26: every POST counts once against the key, with any body", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { auth } = yield* aCaller({ plan: "trial" })
      const bodies = [ping, toolCall("web_search", { query: "a" }), "{}", "not JSON", '{"jsonrpc":"2.0","method":"x"}']
      for (const [index, body] of bodies.entries()) {
        const { headers } = yield* post(api, auth, body)
        assert.strictEqual(headers.get("x-ratelimit-remaining"), String(59 - index), body)
      }
      const shared = yield* api.get("/v1/me", auth)
      assert.strictEqual(shared.headers.get("x-ratelimit-remaining"), "54", "MCP shares the key's counter")
    }).pipe(Effect.provide(layer))
  )

  it.effect("R1: 429 is a status with the envelope and its headers, before anything of the body is looked at", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { auth } = yield* aCaller({ plan: "trial" })
      for (let n = 0; n < 60; n++) yield* post(api, auth, ping)
      const refused = yield* post(api, auth, "not JSON")
      assert.strictEqual(refused.status, 429)
      assert.strictEqual(refused.json.error, "rate_limited")
      assert.strictEqual(refused.json.request_id, refused.headers.get("x-request-id"))
      for (const name of ["x-ratelimit-limit", "ratelimit-policy", "ratelimit", "retry-after"]) {
        assert.isNotNull(refused.headers.get(name), name)
      }
    }).pipe(Effect.provide(layer))
  )

  const refused: ReadonlyArray<readonly [string, Record<string, string>]> = [
    ["no credential", {}],
    ["a bearer token other than a key", { authorization: "Bearer eyJhbGciOiJub25lIn0.e30." }],
    ["the demo", { "x-demo-origin": demoOrigin, "x-forwarded-for": "192.0.2.1" }],
    ["the marketplace", { "x-marketplace-proxy-secret": marketplaceSecret, "x-marketplace-user": "ada" }]
  ]
  for (const [name, headers] of refused) {
    it.effect(`${name} is 401 with the envelope and no hit`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        const answer = yield* post(api, headers, ping)
        assert.strictEqual(answer.status, 401)
        assert.strictEqual(answer.json.error, "unauthorized")
        assert.isNull(answer.headers.get("x-ratelimit-limit"))
      }).pipe(Effect.provide(layer))
    )
  }

  const pages: ReadonlyArray<readonly [string, Record<string, string>, number]> = [
    ["an own page", { origin: "http://quarry.test" }, 200],
    ["an own page without Origin", { "sec-fetch-site": "same-origin" }, 200],
    ["no page", {}, 200],
    ["a page of another site", { origin: "https://evil.test" }, 401],
    ["a page of a subdomain", { "sec-fetch-site": "same-site" }, 401],
    ["a sandboxed page", { origin: "null" }, 401]
  ]
  for (const [name, headers, status] of pages) {
    it.effect(`R25: a session from ${name} is ${status}`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        const store = yield* MemoryStore
        const { account } = yield* aCaller({ plan: "trial" })
        const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(account))
        const answer = yield* post(
          api,
          { cookie, "x-quarry-dashboard": "1", ...headers },
          toolCall("web_search", { query: "a" })
        )
        assert.strictEqual(answer.status, status)
        assert.deepStrictEqual(
          store.queries.map(({ keyId, request: { source } }) => [keyId, source]),
          status === 200 ? [[undefined, "mcp"]] : [],
          "the route decides the source, not the session"
        )
      }).pipe(Effect.provide(layer))
    )
  }
})
