import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { LinkBudget, maxLinkCharacters } from "../../../src/domain/pages/PageLinks.ts"

const link = fc.record({
  url: fc.integer({ min: 1, max: 4_000 }).map((length) => `https://example.org/${"a".repeat(length)}`),
  text: fc.string({ maxLength: 400, unit: "grapheme" })
})

const charactersOf = (links: ReadonlyArray<{ readonly url: string; readonly text: string }>): number =>
  links.reduce((sum, { text, url }) => sum + text.length + url.length, 0)

describe("R83: links of a response", () => {
  it("leave out an address over 2,048 characters, and cut a label to 200", () => {
    const short = `https://example.org/${"a".repeat(2_028)}`
    const links = [
      { url: short, text: "😀".repeat(201) },
      { url: `${short}a`, text: "long" }
    ]
    assert.deepStrictEqual(new LinkBudget().take(links), [{ url: short, text: "😀".repeat(200) }])
  })

  it("never exceed the budget of the response, and are always the first ones of a page", () => {
    fc.assert(
      fc.property(fc.array(fc.array(link, { maxLength: 200 }), { maxLength: 20 }), (pages) => {
        const budget = new LinkBudget()
        const taken = pages.map((page) => budget.take(page))
        assert.isAtMost(charactersOf(taken.flat()), maxLinkCharacters)
        for (const [index, page] of taken.entries()) {
          const allowed = pages[index]?.filter(({ url }) => url.length <= 2_048).map(({ url }) => url) ?? []
          assert.deepStrictEqual(
            page.map(({ url }) => url),
            allowed.slice(0, page.length)
          )
        }
      }),
      { numRuns: 30 }
    )
  })

  it("of a page without others always fit, and those of a second page share what is left", () => {
    const links = Array.from({ length: 200 }, (_, n) => ({ url: `${n}`.padEnd(2_048, "a"), text: "b".repeat(200) }))
    const budget = new LinkBudget()
    assert.lengthOf(budget.take(links), 200)
    assert.lengthOf(budget.take(links), 22)
  })
})
