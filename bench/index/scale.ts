// Measures the built-in index with many documents: loading, searching, searching while documents are loaded, and size.
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { Console, Effect, Layer, Redacted, Stream } from "effect"
import { SqlClient } from "effect/sql"
import * as DocumentIndexSql from "../../src/layers/sql/index/DocumentIndexSql.ts"
import * as Migrations from "../../src/layers/sql/Migrations.ts"
import * as Pglite from "../../src/layers/sql/store/Pglite.ts"
import * as Postgres from "../../src/layers/sql/store/Postgres.ts"
import { DocumentIndex } from "../../src/services/index/DocumentIndex.ts"
import { searchRequest } from "../../test/support/api/requests.ts"
import { start } from "../support/Stores.ts"
import { documentOf, greedyQuery, queryFor, randomFrom } from "./Corpus.ts"

const usage = `npx node bench/index/scale.ts [--store postgres|embedded] [--documents N] [--searches N] [--greedy N]

Loads N generated documents (1,000,000 on Postgres, 100,000 embedded), then searches. Starts its own Postgres, unless
BENCH_DATABASE_URL names a server.`

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "postgres" },
    documents: { type: "string" },
    searches: { type: "string", default: "2000" },
    greedy: { type: "string", default: "10000" },
    long: { type: "string", default: "200" },
    into: { type: "string" },
    help: { type: "boolean", default: false }
  }
})

const isEmbedded = values.store === "embedded"
const documents = Number(values.documents ?? (isEmbedded ? 100_000 : 1_000_000))

const quantiles = (times: ReadonlyArray<number>) => {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1)
  return `p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms, slowest ${at(1)} ms`
}

const timed = (index: DocumentIndex["Service"], query: string) =>
  Effect.gen(function* () {
    const startedAt = performance.now()
    const { rows } = yield* index.search(searchRequest({ query }))
    return { query, ms: performance.now() - startedAt, found: rows.length }
  })

/** Runs searches one after the other. */
const searchAll = (index: DocumentIndex["Service"], queries: ReadonlyArray<string>) =>
  Effect.forEach(queries, (query) => timed(index, query))

const realistic = (seed: number, count: number, words: number) => {
  const random = randomFrom(seed)
  return Array.from({ length: count }, () => queryFor(random, documents, words))
}

const source = (from: number, count: number) => Stream.map(Stream.range(from, from + count - 1), documentOf)

const options = { target: undefined, replace: false } as const

const load = Effect.gen(function* () {
  const index = yield* DocumentIndex
  const startedAt = performance.now()
  yield* index.load(source(0, documents), options)
  const seconds = (performance.now() - startedAt) / 1_000
  yield* Console.log(
    `load: ${documents} documents in ${seconds.toFixed(0)} s, ${(documents / seconds).toFixed(0)} a second`
  )
})

const sizes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<Readonly<Record<string, string>>>`
    select pg_size_pretty(pg_table_size('indexed_documents')) as documents,
      pg_size_pretty(pg_total_relation_size('document_postings')) as postings,
      pg_size_pretty(pg_indexes_size('indexed_documents')) as addresses`
  yield* Console.log(`on disk: documents ${row?.documents}, postings ${row?.postings}, addresses ${row?.addresses}`)
})

const searches = Effect.gen(function* () {
  const index = yield* DocumentIndex
  yield* searchAll(index, realistic(1, 200, 3))
  const all: Array<number> = []
  for (const words of [1, 2, 3, 4, 5]) {
    const results = yield* searchAll(index, realistic(words + 10, Math.ceil(Number(values.searches) / 5), words))
    const times = results.map(({ ms }) => ms)
    const slowest = results.reduce((worst, next) => (next.ms > worst.ms ? next : worst))
    const empty = results.filter(({ found }) => found === 0).length
    yield* Console.log(
      `${words} words: ${quantiles(times)} (${slowest.query}); ${empty} of ${results.length} found nothing`
    )
    all.push(...times)
  }
  yield* Console.log(`1 to 5 words: ${quantiles(all)}`)
})

/** Queries of 400 characters, from words that occur together in documents. */
const long = Effect.gen(function* () {
  const index = yield* DocumentIndex
  const random = randomFrom(55)
  const queries = Array.from({ length: Number(values.long) }, () =>
    Array.from({ length: 12 }, () => queryFor(random, documents, 8))
      .join(" ")
      .slice(0, 400)
  )
  const results = yield* searchAll(index, queries)
  yield* Console.log(`400 characters: ${quantiles(results.map(({ ms }) => ms))}`)
})

const greedy = Effect.gen(function* () {
  const index = yield* DocumentIndex
  const random = randomFrom(99)
  const results = yield* searchAll(
    index,
    Array.from({ length: Number(values.greedy) }, () => greedyQuery(random))
  )
  const slowest = results.toSorted((a, b) => b.ms - a.ms)
  yield* Console.log(`greedy: ${quantiles(results.map(({ ms }) => ms))}`)
  for (const { ms, query } of slowest.slice(0, 3)) yield* Console.log(`  ${ms.toFixed(0)} ms: ${query.slice(0, 100)}`)
})

/** Loads documents in a separate process, like `index load` next to a running server. */
const loadElsewhere = (url: string) =>
  Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, [import.meta.filename, "--into", url], { stdio: "inherit" })),
    (child) => Effect.sync(() => child.kill())
  )

/** Measures searches alone, and then during a load that outlasts them. */
const whileLoading = Effect.fnUntraced(function* (url: string) {
  const index = yield* DocumentIndex
  const queries = realistic(77, 300, 3)
  const alone = yield* searchAll(index, queries)
  yield* loadElsewhere(url)
  yield* Effect.sleep("5 seconds")
  const beside = yield* searchAll(index, queries)
  yield* Console.log(`alone: ${quantiles(alone.map(({ ms }) => ms))}`)
  yield* Console.log(`while documents are loaded: ${quantiles(beside.map(({ ms }) => ms))}`)
}, Effect.scoped)

/** Startup time before the first search: the database, the migrations and the index statistics. */
const opened = (layer: Layer.Layer<DocumentIndex | SqlClient.SqlClient>) =>
  Effect.gen(function* () {
    const startedAt = performance.now()
    yield* Effect.provide(
      Effect.flatMap(DocumentIndex, (index) => index.search(searchRequest({ query: "banana" }))),
      layer
    )
    yield* Console.log(`start to first answer: ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`)
  })

const everything = Effect.andThen(load, Effect.andThen(sizes, Effect.andThen(searches, Effect.andThen(long, greedy))))

const indexOn = <E>(database: Layer.Layer<SqlClient.SqlClient, E>) =>
  DocumentIndexSql.layer.pipe(Layer.provideMerge(Migrations.layer), Layer.provideMerge(database), Layer.orDie)

const onPostgres = Effect.gen(function* () {
  const stores = yield* start
  const url = Redacted.make(yield* stores.database("quarry_index_scale"))
  yield* Console.log(stores.description)
  yield* Effect.andThen(everything, whileLoading(Redacted.value(url))).pipe(
    Effect.provide(indexOn(Postgres.layer({ url, poolSize: 5 })))
  )
})

const onEmbedded = Effect.gen(function* () {
  const dataDir = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "quarry-index-"))),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
  )
  yield* Effect.provide(everything, indexOn(Pglite.layer({ dataDir })))
  yield* opened(indexOn(Pglite.layer({ dataDir })))
})

const loadInto = (url: string) =>
  Effect.flatMap(DocumentIndex, (index) => index.load(source(documents, 1_000_000), options)).pipe(
    Effect.provide(indexOn(Postgres.layer({ url: Redacted.make(url), poolSize: 1 })))
  )

if (values.help) console.log(usage)
else if (values.into !== undefined) await Effect.runPromise(loadInto(values.into))
else await Effect.runPromise(Effect.scoped(isEmbedded ? onEmbedded : onPostgres))
