import { assert, describe, it } from "@effect/vitest"
import type { HttpServerResponse } from "effect/http"
import * as fc from "fast-check"
import { type BulkBody, type RowBody, toBulkResult } from "../../../src/domain/search/BulkResult.ts"
import { Ranking } from "../../../src/domain/search/Ranking.ts"
import { type SearchBody, toSearchResult } from "../../../src/domain/search/SearchResult.ts"
import { encodeBulk, searchResponse } from "../../../src/http/handlers/searchResponses.ts"

const textOf = ({ body, headers }: HttpServerResponse.HttpServerResponse): string => {
  if (body._tag !== "Uint8Array") return assert.fail(`a body of bytes, not ${body._tag}`)
  assert.strictEqual(headers["content-type"], "application/json")
  assert.strictEqual(body.contentLength, body.body.length)
  return Buffer.from(body.body).toString()
}

const anyText = fc.string({ unit: "binary" })

const anyRanking = fc
  .array(fc.record({ position: fc.nat(), title: anyText, url: anyText, domain: anyText, snippet: anyText }))
  .map((results) => new Ranking(results))

const searchFields = {
  id: anyText,
  target: fc.constant("alpha_search" as const),
  query: anyText,
  geo: fc.constant("us"),
  locale: fc.constant("en-us"),
  page: fc.nat(),
  ranking: anyRanking
}

const anySearch: fc.Arbitrary<SearchBody> = fc.record(searchFields)

const anyRow: fc.Arbitrary<RowBody> = fc.oneof(
  fc.record({
    status: fc.constant("error" as const),
    error: fc.constant("upstream_error" as const),
    message: anyText
  }),
  fc.record({ status: fc.constant("ok" as const), ...searchFields })
)

const anyBatch: fc.Arbitrary<BulkBody> = fc.record({
  batch_id: anyText,
  total: fc.nat(),
  succeeded: fc.nat(),
  failed: fc.nat(),
  results: fc.array(anyRow, { maxLength: 5 })
})

describe("answers put together from encoded results are the JSON of the whole, byte for byte", () => {
  it("of a search", () => {
    fc.assert(
      fc.property(anySearch, (answer) => {
        assert.strictEqual(textOf(searchResponse(answer)), JSON.stringify(toSearchResult(answer)))
      })
    )
  })

  it("of a batch", () => {
    fc.assert(
      fc.property(anyBatch, (answer) => {
        assert.strictEqual(encodeBulk(answer).join(""), JSON.stringify(toBulkResult(answer)))
      })
    )
  })
})
