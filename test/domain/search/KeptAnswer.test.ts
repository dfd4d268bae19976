import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { UpstreamError, UpstreamTimeout } from "../../../src/domain/errors.ts"
import { type BulkBody, type RowBody, toBulkResult } from "../../../src/domain/search/BulkResult.ts"
import { keepBatch, keepSearch, restoreBatch, restoreSearch } from "../../../src/domain/search/KeptAnswer.ts"
import { Ranking } from "../../../src/domain/search/Ranking.ts"
import { type SearchBody, toSearchResult } from "../../../src/domain/search/SearchResult.ts"

const text = fc.string({ unit: "binary" })

const result = fc.record({
  position: fc.integer({ min: 1, max: 20 }),
  title: text,
  url: fc.webUrl(),
  domain: fc.domain(),
  snippet: text
})

const body: fc.Arbitrary<SearchBody> = fc.record({
  id: text,
  target: fc.constant("alpha_search" as const),
  query: text,
  geo: fc.constant("us"),
  locale: fc.constant("en-us"),
  page: fc.integer({ min: 1, max: 5 }),
  ranking: fc.array(result, { maxLength: 20 }).map((results) => new Ranking(results))
})

const row: fc.Arbitrary<RowBody> = fc.oneof(
  body.map((it) => ({ status: "ok" as const, ...it })),
  fc.record({ status: fc.constant("error" as const), error: fc.constant("upstream_error" as const), message: text })
)

const batch: fc.Arbitrary<BulkBody> = fc
  .record({ batch_id: text, results: fc.array(row, { maxLength: 5 }) })
  .map((it) => ({ batch_id: it.batch_id, total: it.results.length, succeeded: 0, failed: 0, results: it.results }))

describe("kept answers", () => {
  it("R44: a search comes back with the same bytes", () => {
    fc.assert(
      fc.property(body, (it) => {
        const back = Result.getOrThrow(restoreSearch(keepSearch(Result.succeed(it))))
        assert.strictEqual(JSON.stringify(toSearchResult(back)), JSON.stringify(toSearchResult(it)))
        assert.strictEqual(back.ranking.json, it.ranking.json)
        assert.strictEqual(back.ranking.count, it.ranking.count)
      })
    )
  })

  it("R44: an upstream error comes back with its message", () => {
    for (const error of [new UpstreamError({ message: "not reached" }), new UpstreamTimeout({ message: "too late" })]) {
      assert.deepInclude(Result.merge(restoreSearch(keepSearch(Result.fail(error)))), {
        _tag: error._tag,
        message: error.message
      })
    }
  })

  it("R44: a batch comes back with the same bytes, row by row", () => {
    fc.assert(
      fc.property(batch, (it) => {
        const back = restoreBatch(keepBatch(it))
        assert.strictEqual(JSON.stringify(toBulkResult(back)), JSON.stringify(toBulkResult(it)))
      })
    )
  })
})
