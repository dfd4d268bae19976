import { fileURLToPath } from "node:url"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { embedded, quarry } from "../../bench/relevance/engines.ts"
import { readJudgements, sets } from "../../bench/relevance/Judgement.ts"
import { type Found, scores } from "../../bench/relevance/Score.ts"
import * as DocumentFile from "../../src/layers/index/DocumentFile.ts"

const starterIndex = fileURLToPath(new URL("../../data/starter-index.jsonl.gz", import.meta.url))
const starterDocuments = Stream.runCollect(DocumentFile.read(starterIndex)).pipe(Effect.provide(NodeServices.layer))

/** What the ranking must not fall below on all judged queries; `npm run relevance` prints what it has. */
const floor = { mrr: 0.85, successAt3: 0.88 }

describe("the starter documents in the embedded database", () => {
  it.live(
    "answer the judged queries no worse than the floor",
    () =>
      Effect.gen(function* () {
        const find = yield* quarry(yield* starterDocuments)
        const answers = yield* Effect.forEach(sets.flatMap(readJudgements), (judged) =>
          Effect.map(find(judged.query), (urls): Found => ({ judgement: judged, urls }))
        )
        const { mrr, successAt3 } = scores(answers)
        assert.isAtLeast(mrr, floor.mrr)
        assert.isAtLeast(successAt3, floor.successAt3)
      }).pipe(Effect.provide(embedded)),
    120_000
  )
})
