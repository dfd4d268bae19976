import { Effect, type Layer } from "effect"
import { fuseLists } from "../../src/domain/providers/Fusion.ts"
import type { DocumentIndex } from "../../src/services/index/DocumentIndex.ts"
import { type Find, fts5, miniSearch, quarry } from "./engines.ts"
import { type Collection, readCollection } from "./Judgement.ts"
import { depth, ndcg } from "./Score.ts"

const mean = (values: ReadonlyArray<number>): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)

/** The mean nDCG@10 of a ranking over the queries of a collection. */
const score = ({ queries }: Collection, find: Find) =>
  Effect.map(
    Effect.forEach(queries, ({ locale, query, relevant }) =>
      Effect.map(find(query, locale), (urls) => ndcg({ judgement: { kind: "topic", query, relevant }, urls }))
    ),
    mean
  )

const rowOf = (url: string) => ({ url, title: "", snippet: "" })

/** The merged first pages of two rankings, as a fused target returns them (R63). */
const fused =
  (one: Find, other: Find): Find =>
  (query, locale) =>
    Effect.map(Effect.all([one(query, locale), other(query, locale)]), (lists) =>
      fuseLists(lists.map((urls) => urls.map(rowOf)))
        .slice(0, depth)
        .map(({ row }) => row.url)
    )

/** Prints a table for each folder: rankings of the same documents, alone and merged in pairs. */
export const fusionTable = (folders: ReadonlyArray<string>, store: Layer.Layer<DocumentIndex>) =>
  Effect.map(
    Effect.forEach(folders.map(readCollection), (collection) =>
      Effect.gen(function* () {
        const index = yield* quarry(collection.documents)
        const [fts, mini] = [fts5(collection.documents), miniSearch(collection.documents)]
        const finds = [index, fts, mini, fused(index, fts), fused(index, mini), fused(fts, mini)]
        const scores = yield* Effect.forEach(finds, (find) => score(collection, find))
        return `| ${collection.name} | ${scores.map((value) => value.toFixed(3)).join(" | ")} |`
      }).pipe(Effect.provide(store, { local: true }))
    ),
    (rows) =>
      [
        "| | Built-in index | FTS5 | MiniSearch | index and FTS5 | index and MiniSearch | FTS5 and MiniSearch |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        ...rows
      ].join("\n")
  )
