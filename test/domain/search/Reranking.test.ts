import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { reorder } from "../../../src/domain/search/Reranking.ts"

const resultsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    position: index + 1,
    title: `T${index}`,
    url: `https://example.test/${index}`,
    domain: "example.test",
    snippet: ""
  }))

describe("R86: reorder", () => {
  it("keeps every result once, even if an order names only some", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }).chain((count) =>
          fc.record({
            count: fc.constant(count),
            top: fc.integer({ min: 1, max: 30 }),
            order: fc.shuffledSubarray(Array.from({ length: count }, (_, index) => index))
          })
        ),
        ({ count, order, top }) => {
          const named = order.filter((index) => index < top)
          const results = resultsOf(count)
          const ordered = reorder(results, named, top) ?? assert.fail("it refused a valid order")
          assert.deepStrictEqual(
            ordered.map(({ position }) => position),
            results.map(({ position }) => position)
          )
          assert.sameMembers(
            ordered.map(({ url }) => url),
            results.map(({ url }) => url)
          )
          assert.deepStrictEqual(
            ordered.slice(0, named.length).map(({ url }) => url),
            named.map((index) => results[index]?.url ?? "")
          )
        }
      )
    )
  })

  for (const [what, order] of [
    ["a row that it did not get", [0, 2]],
    ["a row twice", [1, 1]],
    ["half a row", [0.5]],
    ["a row before the first", [-1]]
  ] as const) {
    it(`refuses an order that names ${what}`, () => {
      assert.strictEqual(reorder(resultsOf(4), order, 2), undefined)
    })
  }
})
