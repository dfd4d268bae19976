import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import * as PacerMemory from "../../../../src/layers/memory/PacerMemory.ts"
import * as OpenSearch from "../../../../src/layers/providers/opensearch/OpenSearch.ts"
import { UpstreamClient } from "../../../../src/layers/providers/UpstreamClient.ts"
import type { Document } from "../../../../src/services/index/DocumentIndex.ts"
import type { StoreOptions } from "../../../../src/services/index/DocumentStore.ts"
import { searchRequest } from "../../../support/api/requests.ts"
import { type Answer, json, serve } from "../../../support/servers/UpstreamServer.ts"
import { StandIn } from "./StandIn.ts"

const network = Layer.merge(UpstreamClient.layer, PacerMemory.layer)

const providerAt = Effect.fnUntraced(function* (respond: Answer, options: object = {}) {
  const { received, url } = yield* serve(respond)
  const engines = yield* OpenSearch.type.make("docs", { url, index: "pages", ...options })
  const provider = engines(undefined)
  const { store } = provider
  if (store === undefined) return yield* Effect.die("the provider has no store")
  const search = (query: string, fields: Parameters<typeof searchRequest>[0] = {}) =>
    provider.search(searchRequest({ query, ...fields }))
  const urlsFor = (...args: Parameters<typeof search>) =>
    Effect.map(search(...args), (rows) => rows.map(({ url }) => url))
  const load = (documents: ReadonlyArray<Document>, given: Partial<StoreOptions> = {}) =>
    store.load(Stream.fromIterable(documents), { target: undefined, replace: false, maxRemovedShare: 0.2, ...given })
  return { load, received, search, urlsFor }
})

const document = (path: string, title: string, content: string, language?: string): Document => ({
  url: `https://docs.example.org/${path}`,
  title,
  description: `About ${title}`,
  content,
  ...(language === undefined ? {} : { language })
})

const pages = [
  document("guide/setup", "Set up a server", "Install the package and start the server.", "en"),
  document("guide/backup", "Back up", "A backup of the server is one file. Restore it with one command.", "en"),
  document("blog/neu", "Neuer Server", "Der neue Server startet schneller.", "de"),
  { ...document("x", "Another site", "A server elsewhere", "en"), url: "https://other.example.net/x" }
]
const [setup, backup, neu, other] = pages.map(({ url }) => url)

const standIn = Effect.fnUntraced(function* () {
  const engine = new StandIn()
  return { engine, ...(yield* providerAt(engine.respond)) }
})

describe("OpenSearch", () => {
  it.live("creates its index on the first load, and finds documents by any of their words", () =>
    Effect.gen(function* () {
      const { engine, load, search, urlsFor } = yield* standIn()
      assert.deepInclude(yield* load(pages), { written: 4, rejected: 0, removed: 0 })
      assert.strictEqual(engine.documents.size, 4)
      assert.deepStrictEqual(yield* urlsFor("restore something unknown"), [backup])
      assert.sameMembers(yield* urlsFor("server"), [setup, backup, neu, other])
      const [first] = yield* search("restore")
      assert.deepStrictEqual(first, { url: backup ?? "", title: "Back up", snippet: "About Back up" })
    }).pipe(Effect.scoped, Effect.provide(network))
  )

  it.live("holds phrases, excluded words and sites strictly", () =>
    Effect.gen(function* () {
      const { load, urlsFor } = yield* standIn()
      yield* load(pages)
      assert.deepStrictEqual(yield* urlsFor('"start the server"'), [setup])
      assert.deepStrictEqual(yield* urlsFor('"the start server"'), [])
      assert.sameMembers(yield* urlsFor("server -backup"), [setup, neu, other])
      assert.deepStrictEqual(yield* urlsFor("server site:other.example.net"), [other])
      assert.deepStrictEqual(
        yield* urlsFor("server site:example.org/guide"),
        yield* urlsFor("server -site:example.net -neuer")
      )
      assert.deepStrictEqual(yield* urlsFor("-server"), [])
    }).pipe(Effect.scoped, Effect.provide(network))
  )

  it.live("serves a target with its own documents and those of all targets, page by page", () =>
    Effect.gen(function* () {
      const { load, urlsFor } = yield* standIn()
      yield* load(pages.slice(0, 2), { target: "beta_search" })
      yield* load(pages.slice(2))
      assert.sameMembers(yield* urlsFor("server"), [neu, other])
      assert.lengthOf(yield* urlsFor("server", { target: "beta_search" }), 4)
      const both = [
        ...(yield* urlsFor("server", { target: "beta_search", num: 3 })),
        ...(yield* urlsFor("server", { target: "beta_search", num: 3, page: 2 }))
      ]
      assert.sameMembers(both, [setup, backup, neu, other])
    }).pipe(Effect.scoped, Effect.provide(network))
  )

  it.live("removes what its source no longer has, on the source's sites, unless that is too much", () =>
    Effect.gen(function* () {
      const { engine, load, urlsFor } = yield* standIn()
      const many = Array.from({ length: 8 }, (_, n) => document(`many/${n}`, `Page ${n}`, "a page", "en"))
      yield* load([...pages, ...many])
      yield* Effect.sleep("2 millis")
      const replace = { under: undefined }
      const few = yield* load(pages.slice(0, 1), { replace })
      assert.deepStrictEqual([few.removed, few.kept], [0, { documents: 12, removed: 10 }])
      yield* Effect.sleep("2 millis")
      const rest = [pages[0], pages[2], ...many].filter((it) => it !== undefined)
      assert.strictEqual((yield* load(rest, { replace })).removed, 1)
      assert.deepStrictEqual(yield* urlsFor("restore"), [])
      assert.deepStrictEqual(yield* urlsFor("elsewhere"), [other])
      engine.nextStatus = 400
      const broken = yield* load(pages.slice(0, 1), { replace, maxRemovedShare: 1 })
      assert.deepInclude(broken, { written: 0, rejected: 1, removed: 0 })
    }).pipe(Effect.scoped, Effect.provide(network))
  )

  it.live("writes again the documents for which a node was too busy", () =>
    Effect.gen(function* () {
      const { engine, load } = yield* standIn()
      engine.nextStatus = 429
      assert.deepInclude(yield* load(pages), { written: 4, rejected: 0 })
      assert.strictEqual(engine.documents.size, 4)
    }).pipe(Effect.scoped, Effect.provide(network))
  )

  it.live("signs in by user and password, and never shows them", () =>
    Effect.gen(function* () {
      const engine = new StandIn(`Basic ${Buffer.from("quarry:hunter2").toString("base64")}`)
      const known = yield* providerAt(engine.respond, { username: "quarry", password: "hunter2" })
      yield* known.load(pages)
      assert.lengthOf(yield* known.urlsFor("server"), 4)
      const stranger = yield* providerAt(engine.respond, { username: "quarry", password: "wrong-one" })
      const error = yield* Effect.flip(stranger.search("server"))
      assert.strictEqual(error.reason, "unauthorized")
      assert.notInclude(JSON.stringify(error), "wrong-one")
    }).pipe(Effect.scoped, Effect.provide(network))
  )

  const cases: ReadonlyArray<readonly [string, Answer, string]> = [
    ["an index that is not there", json({ error: { type: "index_not_found_exception" } }, 404), "unserved"],
    ["a cluster under load", json({ error: { type: "es_rejected_execution_exception" } }, 429), "rate_limited"],
    ["a cluster without a master", json({ error: { type: "master_not_discovered_exception" } }, 503), "unreachable"],
    ["shards that were too slow", json({ timed_out: true, hits: { hits: [] } }), "timeout"],
    ["another kind of server", json({ hello: "world" }), "malformed"]
  ]
  for (const [name, answer, reason] of cases) {
    it.live(`refuses with ${reason} for ${name}`, () =>
      Effect.gen(function* () {
        const { search } = yield* providerAt(answer)
        assert.strictEqual((yield* Effect.flip(search("server"))).reason, reason)
      }).pipe(Effect.scoped, Effect.provide(network))
    )
  }
})
