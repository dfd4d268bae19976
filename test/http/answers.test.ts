import { assert, describe, it } from "@effect/vitest"
import type { HttpServerResponse } from "effect/http"
import * as fc from "fast-check"
import type { BulkResult, RowResult } from "../../src/domain/BulkResult.ts"
import { bulkAnswer, jsonAnswer } from "../../src/http/answers.ts"

const bytesOf = ({ body }: HttpServerResponse.HttpServerResponse): Uint8Array => {
  if (body._tag !== "Uint8Array") return assert.fail(`a body of bytes, not ${body._tag}`)
  assert.strictEqual(body.contentLength, body.body.length)
  return body.body
}

const anyText = fc.string({ unit: "binary" })

const anyRow: fc.Arbitrary<RowResult> = fc.oneof(
  fc.record({ status: fc.constant("error"), error: fc.constant("upstream_error"), message: anyText }),
  fc.record({
    status: fc.constant("ok"),
    id: anyText,
    target: fc.constant("alpha_search"),
    query: anyText,
    geo: fc.constant("us"),
    locale: fc.constant("en-us"),
    page: fc.nat(),
    results: fc.record({
      organic: fc.array(
        fc.record({ position: fc.nat(), title: anyText, url: anyText, domain: anyText, snippet: anyText })
      )
    })
  })
)

const anyBulk: fc.Arbitrary<BulkResult> = fc.record({
  batch_id: anyText,
  total: fc.nat(),
  succeeded: fc.nat(),
  failed: fc.nat(),
  results: fc.array(anyRow, { maxLength: 5 })
})

describe("answers", () => {
  it("a batch put together row by row is the JSON of the whole, byte for byte", () => {
    fc.assert(
      fc.property(anyBulk, (result) => {
        const answer = bulkAnswer(result)
        assert.strictEqual(answer.headers["content-type"], "application/json")
        assert.deepStrictEqual(bytesOf(answer), bytesOf(jsonAnswer(result)))
        assert.strictEqual(Buffer.from(bytesOf(answer)).toString(), JSON.stringify(result))
      })
    )
  })
})
