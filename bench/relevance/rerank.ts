import { Effect, Layer, Stream } from "effect"
import { rank } from "../../src/domain/search/Organic.ts"
import { Ranking } from "../../src/domain/search/Ranking.ts"
import * as PacerMemory from "../../src/layers/memory/PacerMemory.ts"
import * as Rerank from "../../src/layers/providers/rerank/Rerank.ts"
import { UpstreamClient } from "../../src/layers/providers/UpstreamClient.ts"
import { DocumentIndex } from "../../src/services/index/DocumentIndex.ts"
import { RerankMonitor } from "../../src/services/providers/Reranker.ts"
import { searchRequest } from "../../test/support/api/requests.ts"
import { type Answer, json, serve } from "../../test/support/servers/UpstreamServer.ts"
import { type Collection, readCollection } from "./Judgement.ts"
import { ndcg } from "./Score.ts"

/** Results that a reranker gets: two pages of ten, of which the first is scored. */
const top = 20

const mean = (values: ReadonlyArray<number>): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/** A text-embeddings-inference server that knows the judgments. The texts are the addresses of the documents. */
const standIn =
  (gradesOf: ReadonlyMap<string, Readonly<Record<string, number>>>): Answer =>
  (received, response) => {
    const { query, texts }: { readonly query: string; readonly texts: ReadonlyArray<string> } = JSON.parse(
      received.body
    )
    const scores = texts.map((text, index) => ({ index, score: gradesOf.get(query)?.[text] ?? 0 }))
    json(scores)(received, response)
  }

/** The mean nDCG@10 of the built-in index with a reranker, the time it adds, and how many pages changed their order. */
const measure = Effect.fnUntraced(function* ({ queries }: Collection, respond: Answer) {
  const index = yield* DocumentIndex
  const { url } = yield* serve(respond)
  const reranker = yield* Rerank.make("rerank", "rerank", { type: "tei", url, top })
  const monitor = new RerankMonitor("alpha_search", reranker)
  const scores: Array<number> = []
  const addedMs: Array<number> = []
  let changed = 0
  for (const { locale = "en-us", query, relevant } of queries) {
    const { rows } = yield* index.search(searchRequest({ query, locale, num: top }))
    const named = rows.map((row) => ({ ...row, title: row.url, snippet: "" }))
    const before = new Ranking(rank(named, top))
    const startedAt = performance.now()
    const after = yield* monitor.rerank(query, { provider: "index", ranking: before, cached: false }, 15_000)
    addedMs.push(performance.now() - startedAt)
    if (after.ranking.json !== before.json) changed += 1
    const urls = after.ranking.results.map((result) => result.url)
    scores.push(ndcg({ judgement: { kind: "topic", query, relevant }, urls }))
  }
  return { ndcg: mean(scores), addedMs: median(addedMs), changed }
})

const rowOf = (name: string, it: { readonly ndcg: number; readonly addedMs: number; readonly changed: number }) =>
  `| ${name} | ${it.ndcg.toFixed(3)} | ${it.addedMs.toFixed(2)} | ${it.changed} |`

/** Prints a table for the folders: a reranker that knows the right order of the first 20 results, and a failing reranker. */
export const rerankTable = (folders: ReadonlyArray<string>, store: Layer.Layer<DocumentIndex>) =>
  Effect.map(
    Effect.forEach(folders.map(readCollection), (collection) =>
      Effect.gen(function* () {
        const index = yield* DocumentIndex
        yield* index.load(Stream.fromIterable(collection.documents), { target: undefined, replace: false })
        const grades = new Map(collection.queries.map(({ query, relevant }) => [query, relevant]))
        const knows = yield* measure(collection, standIn(grades))
        const fails = yield* measure(collection, json({ error: "overloaded" }, 503))
        return [rowOf(`${collection.name}, right order`, knows), rowOf(`${collection.name}, fails`, fails)].join("\n")
      }).pipe(
        Effect.scoped,
        Effect.provide(Layer.mergeAll(store, UpstreamClient.layer, PacerMemory.layer), { local: true })
      )
    ),
    (rows) =>
      ["| Reranker | nDCG@10 | ms added (median) | orders changed |", "| --- | ---: | ---: | ---: |", ...rows].join(
        "\n"
      )
  )
