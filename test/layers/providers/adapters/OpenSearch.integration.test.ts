import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as ExternalIndexesOpenSearch from "../../../../src/layers/providers/opensearch/ExternalIndexesOpenSearch.ts"
import * as ProviderFile from "../../../../src/layers/providers/ProviderFile.ts"
import type { Document } from "../../../../src/services/index/DocumentIndex.ts"
import { ExternalIndexes } from "../../../../src/services/index/ExternalIndexes.ts"
import { membersOf } from "../../../../src/services/providers/Provider.ts"
import { foundations } from "../../../support/api/ProviderTable.ts"
import { searchRequest } from "../../../support/api/requests.ts"
import * as OpenSearchServer from "../../../support/servers/OpenSearchServer.ts"
import { json } from "../../../support/servers/UpstreamServer.ts"

const documents: ReadonlyArray<Document> = [
  {
    url: "https://docs.example.org/guide/caching",
    title: "HTTP caching",
    description: "How browsers keep answers.",
    content: "Cache-Control says how long an answer is fresh.",
    headings: "Freshness\nValidation",
    language: "en"
  },
  { url: "https://example.org/blog/cache", title: "Our cache", description: "A story about a cache", language: "en" },
  { url: "https://example.net/zwischenspeicher", title: "Zwischenspeicher für Café", description: "", language: "de" },
  { url: "https://example.net/%E7%BC%93", title: "缓存", description: "", content: "网页缓存", language: "zh" },
  { url: "https://example.net/el", title: "Κρυφή μνήμη", description: "cache", language: "el" }
]

const fileOf = (url: string, options: object = {}) => ({
  providers: { engine: { type: "opensearch", url, index: "pages", ...options } },
  targets: { alpha_search: [{ provider: "engine" }] }
})

const load = (file: object, all: ReadonlyArray<Document> = documents, target?: "beta_search") =>
  Effect.flatMap(ExternalIndexes, (indexes) => indexes.load("engine", Stream.fromIterable(all), target)).pipe(
    Effect.provide(ExternalIndexesOpenSearch.layer("providers.json").pipe(Layer.provide(foundations(file))))
  )

const search = (file: object, fields: Parameters<typeof searchRequest>[0]) =>
  Effect.gen(function* () {
    const { alpha_search } = yield* Effect.orDie(ProviderFile.table({ _tag: "file", path: "providers.json" }))
    const [provider = assert.fail("no provider")] = alpha_search.flatMap(membersOf)
    return yield* provider.search(searchRequest(fields))
  }).pipe(Effect.provide(foundations(file)))

const pathsOf = (rows: ReadonlyArray<{ readonly url: string }>) => rows.map(({ url }) => new URL(url).pathname).sort()

describe("an index in OpenSearch or Elasticsearch", () => {
  it.live("is created with its mapping, filled, filled again, and searched", () =>
    Effect.gen(function* () {
      const engine = yield* OpenSearchServer.start()
      const file = fileOf(engine.url)
      assert.deepStrictEqual(yield* load(file), { written: 5, rejected: 0, problems: [], isNew: true })
      assert.deepStrictEqual(yield* load(file), { written: 5, rejected: 0, problems: [], isNew: false })
      assert.strictEqual(engine.indexes.get("pages")?.documents.size, 5, "a document is replaced by its address")
      const rows = yield* search(file, { query: "caching" })
      assert.deepStrictEqual(rows, [
        {
          url: "https://docs.example.org/guide/caching",
          title: "HTTP caching",
          snippet: "Cache-Control says how long an answer is fresh."
        }
      ])
    })
  )

  it.live("finds phrases, leaves out exclusions, and stays on a site", () =>
    Effect.gen(function* () {
      const engine = yield* OpenSearchServer.start()
      const file = fileOf(engine.url)
      yield* load(file)
      for (const [query, expected] of [
        ["cache", ["/blog/cache", "/el", "/guide/caching"]],
        ["cafe", ["/zwischenspeicher"]],
        ['"our cache"', ["/blog/cache"]],
        ['"cache our"', []],
        ["cache -story", ["/el", "/guide/caching"]],
        ['cache -"a story"', ["/el", "/guide/caching"]],
        ["cache site:example.org", ["/blog/cache", "/guide/caching"]],
        ["cache site:docs.example.org", ["/guide/caching"]],
        ["cache site:example.org/blog", ["/blog/cache"]],
        ["cache -site:example.org", ["/el"]],
        ["site:example.net", ["/%E7%BC%93", "/el", "/zwischenspeicher"]],
        ["nothing of this", []]
      ] as const) {
        assert.deepStrictEqual(pathsOf(yield* search(file, { query, num: 20 })), [...expected], query)
      }
    })
  )

  it.live("gives pages, and only documents of the target or of all", () =>
    Effect.gen(function* () {
      const engine = yield* OpenSearchServer.start()
      const file = fileOf(engine.url)
      const many = Array.from({ length: 30 }, (_, n) => ({
        url: `https://example.org/${n}`,
        title: `Page ${n}`,
        description: ""
      }))
      yield* load(file, many)
      yield* load(file, [{ url: "https://example.org/beta", title: "Page of beta", description: "" }], "beta_search")
      const pages = [yield* search(file, { query: "page", page: 1 }), yield* search(file, { query: "page", page: 3 })]
      assert.deepStrictEqual(
        pages.map((rows) => [rows.length, rows[0]?.url]),
        [
          [10, "https://example.org/0"],
          [10, "https://example.org/20"]
        ]
      )
      assert.isEmpty(yield* search(file, { query: "beta" }))
    })
  )

  it.live("searches in the query's language and unstemmed, with the weights of the built-in index", () =>
    Effect.gen(function* () {
      const engine = yield* OpenSearchServer.start()
      for (const [scoring, locale, groups] of [
        ["combined_fields", "de-de", ["de", "plain"]],
        ["combined_fields", "el-gr", ["plain"]],
        ["cross_fields", "en-us", ["en", "plain"]]
      ] as const) {
        const file = fileOf(engine.url, { scoring })
        yield* load(file)
        yield* search(file, { query: "cache", locale })
        const { query } = JSON.parse(engine.received.at(-1)?.body ?? "{}")
        const scored: ReadonlyArray<Record<string, { fields: ReadonlyArray<string> }>> =
          query.bool.must[0].dis_max.queries
        assert.deepStrictEqual(
          scored.map((it) => (it.combined_fields ?? it.multi_match)?.fields),
          groups.map((it) => [
            `${it}.title^4`,
            `${it}.headings^2`,
            `${it}.address^1`,
            `${it}.description^1`,
            `${it}.content^1`
          ])
        )
      }
    })
  )

  it.live("takes one credential, in the form of the engine", () =>
    Effect.gen(function* () {
      const pair = Buffer.from("ada:s3cret").toString("base64")
      for (const [options, authorization] of [
        [{ username: "ada", password: "s3cret" }, `Basic ${pair}`],
        [{ apiKey: "a2V5" }, "ApiKey a2V5"]
      ] as const) {
        const engine = yield* OpenSearchServer.start({ authorization })
        yield* load(fileOf(engine.url, options))
        assert.isNotEmpty(yield* search(fileOf(engine.url, options), { query: "cache" }))
        const refused = yield* Effect.flip(load(fileOf(engine.url)))
        assert.match(refused.message, /does not let this credential read the index/)
        const { reason } = yield* Effect.flip(search(fileOf(engine.url), { query: "cache" }))
        assert.strictEqual(reason, "unauthorized")
      }
      for (const options of [
        { username: "ada" },
        { password: "x" },
        { username: "ada", password: "x", apiKey: "y" },
        { index: "a/b" },
        { index: "_all" },
        { index: "A" }
      ]) {
        assert.match((yield* Effect.flip(load(fileOf("http://127.0.0.1:1", options)))).message, /^QUARRY_PROVIDERS/)
      }
    })
  )

  it.live("is refused as what it is when the engine cannot answer", () =>
    Effect.gen(function* () {
      const shards = { total: 2, successful: 1, skipped: 0, failed: 1 }
      const none = { took: 1, timed_out: false, _shards: { ...shards, failed: 0 }, hits: { hits: [] } }
      for (const [body, status, expected] of [
        [{ error: { type: "index_not_found_exception" } }, 404, "malformed"],
        [{ error: { type: "es_rejected_execution_exception" } }, 429, "rate_limited"],
        [{ error: { type: "cluster_block_exception" } }, 503, "unreachable"],
        [{ ...none, timed_out: true }, 200, "timeout"],
        [{ ...none, _shards: shards }, 200, "unreachable"],
        [{ ...none, hits: { hits: [{ _source: { url: "https://example.org/" } }] } }, 200, "malformed"],
        [{ ...none, hits: {} }, 200, "malformed"],
        [{}, 200, "malformed"],
        [[], 200, "malformed"]
      ] as const) {
        const engine = yield* OpenSearchServer.start({ instead: () => json(body, status) })
        const { reason } = yield* Effect.flip(search(fileOf(engine.url), { query: "cache" }))
        assert.strictEqual(reason, expected, JSON.stringify(body))
      }
      const empty = yield* OpenSearchServer.start({ instead: () => json(none) })
      assert.deepStrictEqual(yield* search(fileOf(empty.url), { query: "cache" }), [])
    })
  )

  it.live("leaves an index alone that Quarry did not create", () =>
    Effect.gen(function* () {
      const other = { pages: { mappings: { properties: { title: { type: "text" } } } } }
      const engine = yield* OpenSearchServer.start({ instead: () => json(other) })
      const { message } = yield* Effect.flip(load(fileOf(engine.url)))
      assert.match(message, /was not created by this version of Quarry/)
      assert.deepStrictEqual(
        engine.received.map(({ method, path }) => `${method} ${path}`),
        ["GET /pages/_mapping"]
      )
    })
  )

  it.live("counts documents that the engine rejects, and loads the others", () =>
    Effect.gen(function* () {
      const engine = yield* OpenSearchServer.start({
        instead: ({ path }) =>
          path.endsWith("_bulk")
            ? json({
                errors: true,
                items: [{ index: { status: 201 } }, { index: { status: 400, error: { type: "mapper", reason: "no" } } }]
              })
            : undefined
      })
      const loaded = yield* load(fileOf(engine.url), documents.slice(0, 2))
      assert.deepStrictEqual(loaded, {
        written: 1,
        rejected: 1,
        problems: [{ url: "https://example.org/blog/cache", problem: "mapper: no" }],
        isNew: true
      })
    })
  )

  it.effect("sends documents again that the engine had no capacity for, and gives up after a minute", () =>
    Effect.gen(function* () {
      let refusals = 2
      const busy = json({ errors: true, items: [{ index: { status: 429 } }, { index: { status: 201 } }] })
      const instead = ({ path }: { readonly path: string }) =>
        path.endsWith("_bulk") && refusals-- > 0 ? (refusals === 1 ? busy : json({}, 429)) : undefined
      const engine = yield* OpenSearchServer.start({ instead })
      const loaded = yield* TestClock.withLive(load(fileOf(engine.url), documents.slice(0, 2)))
      assert.strictEqual(loaded.written, 2)
      const sizes = engine.received
        .filter(({ path }) => path.endsWith("_bulk"))
        .map(({ body }) => body.split("\n").length)
      assert.deepStrictEqual(sizes, [5, 3, 3], "only what is left is sent again")
    })
  )

  it.live("cuts a load into requests of limited size", () =>
    Effect.gen(function* () {
      const engine = yield* OpenSearchServer.start()
      const many = Array.from({ length: 1_100 }, (_, n) => ({
        url: `https://example.org/${n}`,
        title: `${n}`,
        description: "",
        content: n < 3 ? "x".repeat(2 * 1024 * 1024) : "",
        language: "en"
      }))
      assert.strictEqual((yield* load(fileOf(engine.url), many)).written, 1_100)
      const bodies = engine.received
        .filter(({ path }) => path.endsWith("_bulk"))
        .map(({ body }) => Buffer.byteLength(body))
      assert.isAbove(bodies.length, 3)
      for (const size of bodies) assert.isAtMost(size, 5 * 1024 * 1024)
    })
  )
})
