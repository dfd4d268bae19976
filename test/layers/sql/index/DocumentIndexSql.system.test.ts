import { fileURLToPath } from "node:url"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { greedyQuery, randomFrom } from "../../../../bench/index/Corpus.ts"
import * as DocumentFile from "../../../../src/layers/index/DocumentFile.ts"
import * as DocumentIndexSql from "../../../../src/layers/sql/index/DocumentIndexSql.ts"
import { DocumentIndex } from "../../../../src/services/index/DocumentIndex.ts"
import { searchRequest } from "../../../support/api/requests.ts"
import * as EmbeddedDatabase from "../../../support/stores/EmbeddedDatabase.ts"

const embedded = DocumentIndexSql.layer.pipe(Layer.provide(EmbeddedDatabase.layer), Layer.orDie)

const starterIndex = fileURLToPath(new URL("../../../../data/starter-index.jsonl.gz", import.meta.url))

/** `INDEX_QUERIES=10000` makes the long form. */
const generatedQueries = Number(process.env.INDEX_QUERIES ?? 200)

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

/** The CPU time of this process, in which the embedded database runs: other work on the machine does not count. */
const cpuMs = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const before = process.cpuUsage()
    yield* effect
    const { system, user } = process.cpuUsage(before)
    return (system + user) / 1_000
  })

describe("the starter documents in the embedded database", () => {
  it.live(
    "no query holds the process up for a tenth of a second",
    () =>
      Effect.gen(function* () {
        const index = yield* DocumentIndex
        yield* index.load(DocumentFile.read(starterIndex), { target: undefined, replace: false })
        const random = randomFrom(1)
        const generated = Array.from({ length: generatedQueries }, () => greedyQuery(random)).filter(
          (query) => query !== ""
        )
        for (const query of [...greedy, ...generated]) {
          const once = cpuMs(index.search(searchRequest({ query })))
          // The second time counts where the first was slow: the compiler and the garbage collector have their turns.
          const ms = yield* once
          if (ms >= 100) assert.isBelow(Math.min(yield* once, yield* once), 100, query)
        }
      }).pipe(Effect.provide(Layer.merge(embedded, NodeServices.layer))),
    600_000
  )
})
