import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { bulkText, searchText } from "../../src/mcp/text.ts"

const result = fc
  .array(fc.tuple(fc.string({ maxLength: 80 }), fc.string({ maxLength: 300, unit: "grapheme" })), { maxLength: 20 })
  .map((rows) => ({
    id: "qry_0",
    target: "alpha_search" as const,
    query: "css grid",
    geo: "us",
    locale: "en-us",
    page: 1,
    results: {
      organic: rows.map(([title, snippet], index) => ({
        position: index + 1,
        title,
        url: `https://example.com/${index + 1}`,
        domain: "example.com",
        snippet
      }))
    }
  }))

const characters = fc.integer({ min: 1, max: 3000 })

describe("the text of an answer", () => {
  it("is never longer than asked for, and tells of each result or of those left out", () => {
    fc.assert(
      fc.property(result, characters, (search, most) => {
        const text = searchText(search, most)
        assert.isAtMost([...text].length, most)
        const { organic } = search.results
        const shown = organic.filter(({ url }) => text.includes(`\n${url}`)).length
        const whole = text.includes("page 1)") && most > 200
        if (whole && shown < organic.length) assert.include(text, `(${organic.length - shown} more left out`)
      })
    )
  })

  it("of a batch is never longer than asked for either", () => {
    fc.assert(
      fc.property(fc.array(result, { minLength: 1, maxLength: 50 }), characters, (searches, most) => {
        const results = searches.map((search) => ({ status: "ok" as const, ...search }))
        const { length } = results
        const text = bulkText({ batch_id: "bat_0", total: length, succeeded: length, failed: 0, results }, most)
        assert.isAtMost([...text].length, most)
      })
    )
  })

  it("leaves a missing snippet out instead of an empty line", () => {
    const [sample] = fc.sample(
      result.filter(({ results }) => results.organic.length > 0),
      { numRuns: 1, seed: 1 }
    )
    assert.isDefined(sample)
    if (sample === undefined) return
    const bare = {
      ...sample.results.organic[0],
      position: 1,
      title: "T",
      url: "https://a.test/",
      domain: "a",
      snippet: ""
    }
    const text = searchText({ ...sample, results: { organic: [bare] } }, 1000)
    assert.isTrue(text.endsWith("1. T\nhttps://a.test/"))
  })
})
