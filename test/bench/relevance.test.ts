import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as fc from "fast-check"
import { rules } from "../../bench/relevance/ablations.ts"
import { type Judgement, readJudgements, sets } from "../../bench/relevance/Judgement.ts"
import { type Found, firstRight, ndcg, scores } from "../../bench/relevance/Score.ts"
import * as DocumentFile from "../../src/layers/index/DocumentFile.ts"

const starterIndex = fileURLToPath(new URL("../../data/starter-index.jsonl.gz", import.meta.url))
const starterDocuments = Stream.runCollect(DocumentFile.read(starterIndex)).pipe(Effect.provide(NodeServices.layer))

const judgement = (relevant: Judgement["relevant"], kind: Judgement["kind"] = "topic"): Judgement => ({
  kind,
  query: "q",
  relevant
})

const found = (relevant: Judgement["relevant"], urls: ReadonlyArray<string>): Found => ({
  judgement: judgement(relevant),
  urls
})

describe("the figures of relevance", () => {
  it("the first page of grade 2 or 3 counts, among the first ten", () => {
    assert.strictEqual(firstRight(found({ a: 1, b: 2 }, ["a", "b"])), 2)
    assert.strictEqual(firstRight(found({ a: 1 }, ["a"])), undefined)
    const ten = Array.from({ length: 10 }, (_, index) => `${index}`)
    assert.strictEqual(firstRight(found({ z: 3 }, [...ten, "z"])), undefined)
  })

  it("nDCG is 1 for the best order, less for another, and 0 for none", () => {
    const relevant = { a: 3, b: 2, c: 1 } as const
    assert.strictEqual(ndcg(found(relevant, ["a", "b", "c"])), 1)
    assert.closeTo(
      ndcg(found(relevant, ["c", "b", "a"])),
      (1 + 3 / Math.log2(3) + 7 / 2) / (7 + 3 / Math.log2(3) + 1 / 2),
      1e-12
    )
    assert.strictEqual(ndcg(found(relevant, ["x"])), 0)
  })

  it("nDCG is between 0 and 1 for any results", () => {
    const url = fc.constantFrom("a", "b", "c", "d")
    const grades = fc.dictionary(url, fc.constantFrom(1, 2, 3))
    fc.assert(
      fc.property(grades, fc.array(url), (relevant, urls) => {
        const value = ndcg(found(relevant, urls))
        assert.isAtLeast(value, 0)
        assert.isAtMost(value, 1 + 1e-12)
      })
    )
  })

  it("a query that nothing answers counts in none of them", () => {
    const { mrr, queries } = scores([
      { judgement: judgement({}, "none"), urls: ["a"] },
      { judgement: judgement({ a: 3 }), urls: ["b", "a"] }
    ])
    assert.deepStrictEqual({ mrr, queries }, { mrr: 0.5, queries: 1 })
  })
})

describe("the judged queries", () => {
  it.effect("name starter documents, each query once, and only those of kind none have no answer", () =>
    Effect.gen(function* () {
      const urls = new Set((yield* starterDocuments).map(({ url }) => url))
      const judgements = sets.flatMap(readJudgements)
      assert.strictEqual(new Set(judgements.map(({ query }) => query)).size, judgements.length)
      for (const { kind, query, relevant } of judgements) {
        assert.deepStrictEqual(
          Object.keys(relevant).filter((url) => !urls.has(url)),
          [],
          query
        )
        assert.strictEqual(Object.values(relevant).includes(3), kind !== "none", query)
      }
    })
  )
})

describe("the ablations", () => {
  it("remove a text that is in the named file once", () => {
    for (const { file, from, name } of rules) {
      const source = readFileSync(new URL(`../../src/${file}`, import.meta.url), "utf8")
      assert.strictEqual(source.split(from).length, 2, name)
    }
  })
})
