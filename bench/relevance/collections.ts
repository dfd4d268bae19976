import { Effect, type Layer } from "effect"
import type { DocumentIndex } from "../../src/services/index/DocumentIndex.ts"
import { type Find, fts5, quarry } from "./engines.ts"
import { type Collection, type Judgement, readCollection, readJudgements, sets } from "./Judgement.ts"
import { ndcg } from "./Score.ts"

/** Scores of a search engine over the queries of a collection. */
export interface CollectionScores {
  readonly ndcg: number
  /** Mean reciprocal rank of the first document with any gain. */
  readonly mrr: number
  /** Queries without results. */
  readonly empty: number
}

type Found = ReadonlyArray<{ readonly judgement: Judgement; readonly urls: ReadonlyArray<string> }>

const mean = (values: ReadonlyArray<number>): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)

const scoresOf = (found: Found): CollectionScores => ({
  ndcg: mean(found.map(ndcg)),
  mrr: mean(
    found.map(({ judgement, urls }) => {
      const index = urls.findIndex((url) => (judgement.relevant[url] ?? 0) > 0)
      return index === -1 ? 0 : 1 / (index + 1)
    })
  ),
  empty: found.filter(({ urls }) => urls.length === 0).length
})

const searchAll = (find: Find, { queries }: Collection) =>
  Effect.forEach(queries, ({ locale, query, relevant }) =>
    Effect.map(find(query, locale), (urls) => ({ judgement: { kind: "topic", query, relevant } as const, urls }))
  )

/** The scores of the built-in index, in its own store. */
export const scoreCollection = (collection: Collection, store: Layer.Layer<DocumentIndex>) =>
  Effect.gen(function* () {
    const find = yield* quarry(collection.documents)
    return scoresOf(yield* searchAll(find, collection))
  }).pipe(Effect.provide(store))

/** Our own judged sets over the starter documents, in the form of a collection. */
export const ownCollections = (documents: Collection["documents"]): ReadonlyArray<Collection> =>
  sets.map((set) => ({
    name: set,
    documents,
    queries: readJudgements(set)
      .filter(({ kind }) => kind !== "none")
      .map(({ query, relevant }) => ({ query, locale: undefined, relevant }))
  }))

/** The scores of each folder's collection, of the built-in index and of SQLite FTS5, as a table. */
export const collectionsTable = (folders: ReadonlyArray<string>, store: Layer.Layer<DocumentIndex>) =>
  Effect.map(
    Effect.forEach(folders.map(readCollection), (collection) =>
      Effect.gen(function* () {
        const own = yield* scoreCollection(collection, store)
        const other = scoresOf(yield* searchAll(fts5(collection.documents), collection))
        const cells = ({ empty, mrr, ndcg }: CollectionScores) => `${ndcg.toFixed(3)} | ${mrr.toFixed(3)} | ${empty}`
        return `| ${collection.name} | ${collection.documents.length} | ${collection.queries.length} | ${cells(own)} | ${cells(other)} |`
      })
    ),
    (rows) =>
      [
        "| | documents | queries | nDCG@10 | MRR | found nothing | FTS5: nDCG@10 | MRR | found nothing |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        ...rows
      ].join("\n")
  )
