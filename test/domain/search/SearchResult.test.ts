import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { SearchResult } from "../../../src/domain/search/SearchResult.ts"

const body = {
  id: "qry_0123456789abcdef0123456789abcdef",
  target: "alpha_search",
  query: "cats",
  geo: "us",
  locale: "en-us",
  page: 1,
  results: { organic: [{ position: 1, title: "Cats", url: "https://a.com/", domain: "a.com", snippet: "" }] }
} as const

describe("the body of a search", () => {
  const encode = Schema.encodeUnknownSync(SearchResult)

  it("has the specification's fields, encoded as they are", () => {
    assert.deepStrictEqual(encode(body), body)
  })

  it("may hold no result", () => {
    const empty = { ...body, results: { organic: [] } }
    assert.deepStrictEqual(encode(empty), empty)
  })

  it("never carries source, safe or num", () => {
    assert.deepStrictEqual(encode({ ...body, source: "api", safe: "off", num: 10 }), body)
  })

  for (const field of ["id", "target", "query", "geo", "locale", "page", "results"] as const) {
    it(`without ${field} is not a body`, () => {
      const { [field]: _, ...rest } = body
      assert.throws(() => encode(rest))
    })
  }
})
