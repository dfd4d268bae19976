import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { fuseLists, onlyIn } from "../../../src/domain/providers/Fusion.ts"
import type { UpstreamRow } from "../../../src/domain/search/Organic.ts"

const row = (name: string, from = "", published?: string): UpstreamRow => ({
  url: `https://${name}.test/`,
  title: `${name} ${from}`,
  snippet: from,
  ...(published === undefined ? {} : { published })
})

const rows = (names: string, from = "") => Array.from(names, (name) => row(name, from))

const order = (...lists: ReadonlyArray<string>) =>
  fuseLists(lists.map((names, index) => rows(names, String(index))))
    .map(({ row }) => row.url.slice(8, 9))
    .join("")

describe("fuseLists", () => {
  it("R63: ranks by the sum of 1 / (60 + rank)", () => {
    // c: 1/63 + 1/61, a: 1/61 + 1/63, b: 1/62, d: 1/62. Equal scores keep the order of best rank and list.
    assert.strictEqual(order("abc", "cda"), "acbd")
    assert.strictEqual(order("abcd", "", "xyzd"), "daxbycz")
  })

  it("title and snippet come from the list with the best rank", () => {
    const [first, second] = fuseLists([rows("ab", "0"), rows("ba", "1")])
    assert.deepStrictEqual([first?.row.title, second?.row.title], ["a 0", "b 1"])
  })

  it("R12: results are matched by address, and a list counts once", () => {
    const fused = fuseLists([
      [{ url: "https://a.test/?utm_source=x#top", title: "0", snippet: "" }, row("a", "dup"), row("b")],
      [
        { url: "HTTPS://A.test", title: "1", snippet: "" },
        { url: "javascript:x", title: "bad", snippet: "" }
      ]
    ])
    assert.deepStrictEqual(
      fused.map(({ lists, row }) => [row.title, lists]),
      [
        ["0", [0, 1]],
        ["b ", [0]]
      ]
    )
    assert.deepStrictEqual(onlyIn(fused, 2), [1, 0])
  })

  it("a date of any list is kept", () => {
    const [found] = fuseLists([[row("a")], [row("a", "", "2026-01-01")]])
    assert.strictEqual(found?.row.published, "2026-01-01")
  })

  it("what a search does not admit has no rank", () => {
    const fused = fuseLists([rows("xab")], ({ hostname }) => hostname !== "x.test")
    assert.deepStrictEqual(
      fused.map(({ row }) => row.url),
      ["https://a.test/", "https://b.test/"]
    )
  })

  it("one list stays as it is, and every result of every list is there once", () => {
    const names = fc.uniqueArray(fc.constantFrom(..."abcdefghij"), { maxLength: 10 }).map((all) => all.join(""))
    fc.assert(
      fc.property(names, fc.array(names), (one, lists) => {
        assert.strictEqual(order(one), one)
        assert.strictEqual([...order(...lists)].sort().join(""), [...new Set(lists.join(""))].sort().join(""))
      })
    )
  })
})
