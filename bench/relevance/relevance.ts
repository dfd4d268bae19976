// Compares the built-in index with two libraries on the judged queries of this folder.
import { mkdirSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Stream } from "effect"
import * as DocumentFile from "../../src/layers/index/DocumentFile.ts"
import * as Database from "../../test/support/stores/Database.ts"
import { printAblations } from "./ablations.ts"
import { collectionsTable } from "./collections.ts"
import { embedded, type Find, fts5, miniSearch, onPostgres, quarry } from "./engines.ts"
import { fusionTable } from "./fusion.ts"
import { type JudgedSet, readJudgements, sets } from "./Judgement.ts"
import { json, markdown, misses, type Run } from "./Report.ts"
import { rerankTable } from "./rerank.ts"
import type { Found } from "./Score.ts"

const starterIndex = fileURLToPath(new URL("../../data/starter-index.jsonl.gz", import.meta.url))
const results = fileURLToPath(new URL("../results/", import.meta.url))

const { values: options } = parseArgs({
  options: {
    misses: { type: "boolean", default: false },
    only: { type: "string" },
    collection: { type: "string", multiple: true, default: [] },
    ablations: { type: "boolean", default: false },
    fuse: { type: "boolean", default: false },
    rerank: { type: "boolean", default: false }
  }
})

const isSet = (name: string): name is JudgedSet => sets.some((set) => set === name)

const quantile = (sorted: ReadonlyArray<number>, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

/** Runs each query twice: first for the results, then for the time. */
const run = (engine: string, find: Find, chosen: ReadonlyArray<JudgedSet>) =>
  Effect.gen(function* () {
    const found: Partial<Record<JudgedSet, ReadonlyArray<Found>>> = {}
    for (const set of chosen) {
      found[set] = yield* Effect.forEach(readJudgements(set), (judgement) =>
        Effect.map(find(judgement.query), (urls) => ({ judgement, urls }))
      )
    }
    const times: Array<number> = []
    for (const { judgement } of chosen.flatMap((set) => found[set] ?? [])) {
      const startedAt = performance.now()
      yield* find(judgement.query)
      times.push(performance.now() - startedAt)
    }
    times.sort((a, b) => a - b)
    const measured: Run = { engine, found, p50Ms: quantile(times, 0.5), p95Ms: quantile(times, 0.95) }
    return measured
  })

const program = Effect.gen(function* () {
  const chosen = sets.filter((set) => options.only === undefined || set === options.only)
  const documents = yield* Stream.runCollect(DocumentFile.read(starterIndex))
  const onStore = (engine: string, layer: typeof embedded) =>
    quarry(documents).pipe(
      Effect.flatMap((find) => run(engine, find, chosen)),
      Effect.provide(layer),
      Effect.scoped
    )
  const runs = [yield* onStore("Quarry, embedded", embedded)]
  if (yield* Database.reachable) runs.push(yield* onStore("Quarry, Postgres", onPostgres))
  else console.error(`Without Postgres: there is none at ${Database.serverUrl}.`)
  runs.push(yield* run("SQLite FTS5", fts5(documents), chosen))
  runs.push(yield* run("MiniSearch", miniSearch(documents), chosen))
  const about = `${documents.length} starter documents, Node ${process.version}.`
  const report = markdown(runs, about)
  console.log(report)
  for (const each of runs.slice(0, options.misses ? 1 : 0)) console.log(`## Misses, ${each.engine}\n\n${misses(each)}`)
  if (options.only !== undefined) return
  mkdirSync(results, { recursive: true })
  writeFileSync(`${results}relevance.md`, report)
  writeFileSync(`${results}relevance.json`, `${JSON.stringify(json(runs), undefined, 2)}\n`)
})

/** Implements `--collection`, with or without `--fuse` or `--rerank`, and `--ablations`. */
const compared = Effect.gen(function* () {
  if (options.ablations) return yield* printAblations(options.collection)
  if (options.rerank) return console.log(yield* rerankTable(options.collection, embedded))
  if (options.fuse) return console.log(yield* fusionTable(options.collection, embedded))
  console.log(yield* collectionsTable(options.collection, embedded))
})

if (options.collection.length > 0 || options.ablations) await Effect.runPromise(compared)
else if (options.only !== undefined && !isSet(options.only)) {
  console.error(`--only takes ${sets.join(" or ")}, not ${options.only}.`)
  process.exitCode = 2
} else {
  await Effect.runPromise(program.pipe(Effect.provide(NodeServices.layer)))
}
