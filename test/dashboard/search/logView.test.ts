import { assert, describe, it } from "@effect/vitest"
import { commandsFor } from "../../../src/dashboard/search/commands.ts"
import { historyQuery, isFiltered, rangeIn } from "../../../src/dashboard/search/logView.ts"

const now = Date.parse("2026-03-10T12:00:00.500Z")
const query = (text: string) => historyQuery(new URLSearchParams(text), now)

describe("the address of the log", () => {
  it("has the API's filters, and ranges that end now", () => {
    assert.deepStrictEqual(query("target=page&text=&other=1"), { target: "page" })
    assert.deepStrictEqual(query("range=1h&kind=search"), { kind: "search", from: "2026-03-10T11:00:00.000Z" })
    assert.deepStrictEqual(query("range=24h&cursor=abc"), { cursor: "abc", from: "2026-03-09T12:00:00.000Z" })
    assert.deepStrictEqual(query("range=100y"), {})
  })

  it("says which range it has, and whether anything is filtered", () => {
    for (const [text, range, filtered] of [
      ["", "all", false],
      ["cursor=a", "all", false],
      ["range=7d", "7d", true],
      ["from=2026-01-01T00:00:00Z", "own", true],
      ["status=ok", "all", true],
      ["option=freshness", "all", true],
      ["domain=example.org", "all", true]
    ] as const) {
      assert.deepStrictEqual(
        [rangeIn(new URLSearchParams(text)), isFiltered(new URLSearchParams(text))],
        [range, filtered]
      )
    }
  })
})

describe("the palette", () => {
  const known = [
    { text: "API keys", note: "Page", path: "/dashboard/keys" },
    { text: "production", note: "Key sk_live_ab…", path: "/dashboard/log?key=1" }
  ]
  const pathsFor = (text: string) => commandsFor(text, known).map(({ path }) => path)

  it("finds what a pasted id belongs to, and nothing else", () => {
    const hex = "0123456789abcdef".repeat(2)
    assert.deepStrictEqual(pathsFor(` qry_${hex}\n`), [`/dashboard/log/qry_${hex}`])
    assert.deepStrictEqual(pathsFor(`bat_${hex}`), [`/dashboard/log?batch=bat_${hex}`])
    const request = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    assert.deepStrictEqual(pathsFor(request.toUpperCase()), [`/dashboard/log?request=${request}`])
  })

  it("finds pages and keys by all words, and offers to search for the text", () => {
    assert.deepStrictEqual(pathsFor(""), ["/dashboard/keys", "/dashboard/log?key=1"])
    assert.deepStrictEqual(pathsFor("prod KEY"), [
      "/dashboard/log?key=1",
      "/dashboard/log?text=prod+KEY",
      "/dashboard/playground?query=prod+KEY"
    ])
  })
})
