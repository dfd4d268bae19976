import { fileURLToPath } from "node:url"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as DocumentFile from "../../../src/layers/DocumentFile.ts"
import * as DocumentIndexSql from "../../../src/layers/sql/DocumentIndexSql.ts"
import * as Migrations from "../../../src/layers/sql/Migrations.ts"
import * as Pglite from "../../../src/layers/sql/Pglite.ts"
import { DocumentIndex } from "../../../src/services/DocumentIndex.ts"
import { describeWithPostgres, layer as postgres } from "../../support/Postgres.ts"
import { searchRequest } from "../../support/requests.ts"
import { documentIndexConformance } from "../DocumentIndex.conformance.ts"

const migrated = Layer.effectDiscard(Migrations.run)

const embedded = DocumentIndexSql.layer.pipe(
  Layer.provide(migrated),
  Layer.provide(Pglite.layer({ dataDir: undefined })),
  Layer.orDie
)

documentIndexConformance("PGlite", embedded)

const starterIndex = fileURLToPath(new URL("../../../data/starter-index.jsonl.gz", import.meta.url))

const prefixes = (
  "con pro int the str fun ele ref com arr obj met exa cre use ret doc can whi tha has web css htm jav typ val req res " +
  "ser cli eve add get set def des dat err fil for fro lis new nod opt par pag per pre pri rea rem ren sel sta"
).split(" ")

const common =
  "javascript api object method array string type value react css html node element property class use".split(" ")

const letters = Array.from("abcdefghijklmnopqrstuvwxyz")

/** Queries of up to 400 characters that match as much as queries can. */
const greedy: ReadonlyArray<string> = [
  prefixes,
  common,
  letters,
  letters.flatMap((a) => [`${a}a`, `${a}o`]),
  ["mdn"],
  ["日本"]
]
  .map((words) => Array.from({ length: 100 }, (_, index) => words[index % words.length] ?? ""))
  .flatMap((words) => [
    words.join(" "),
    `${words.join(" ").slice(0, 390)} zzzq`,
    words.join(" or "),
    words.join("."),
    `"${words.join(" ")}"`,
    words.map((word, index) => (index % 4 === 0 ? `"${word}` : index % 4 === 3 ? `${word}"` : word)).join(" "),
    words.map((word) => `-${word}`).join(" "),
    `the ${words.map((word) => `-${word}`).join(" ")}`
  ])
  .map((query) => query.slice(0, 400))

describe("the starter documents in the embedded database", () => {
  it.live(
    "no query stops the process for a second, and 50 of them take less than ten",
    () =>
      Effect.gen(function* () {
        const index = yield* DocumentIndex
        yield* index.load(DocumentFile.read(starterIndex), { target: undefined, replace: false })
        const times: Array<number> = []
        for (const query of greedy) {
          const startedAt = performance.now()
          yield* index.search(searchRequest({ query }))
          const elapsedMs = performance.now() - startedAt
          assert.isBelow(elapsedMs, 1_000, query)
          times.push(elapsedMs)
        }
        const slowest = times.sort((a, b) => b - a).slice(0, 50)
        assert.isBelow(
          slowest.reduce((sum, ms) => sum + ms, 0),
          10_000
        )
      }).pipe(Effect.provide(Layer.merge(embedded, NodeServices.layer))),
    120_000
  )
})

describeWithPostgres("Postgres", () =>
  documentIndexConformance(
    "Postgres",
    DocumentIndexSql.layer.pipe(Layer.provide(migrated), Layer.provide(postgres), Layer.orDie)
  )
)
