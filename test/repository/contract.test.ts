import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"

const root = new URL("../../", import.meta.url)

const read = (path: string) => readFileSync(new URL(path, root), "utf8")

const sourcesOf = (folder: string): ReadonlyArray<string> =>
  readdirSync(fileURLToPath(new URL(folder, root)), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => `${folder}${path}`)

/** Each number that the sources of a folder cite, with the files that cite it. */
const citationsIn = (folder: string): ReadonlyMap<string, ReadonlyArray<string>> => {
  const citations = new Map<string, Array<string>>()
  for (const path of sourcesOf(folder)) {
    for (const [number] of read(path).matchAll(/\b(?:R[1-9][0-9]?|I[1-6]|M[1-5])\b/g)) {
      citations.set(number, [...(citations.get(number) ?? []), path])
    }
  }
  return citations
}

const stated = new Set(
  Array.from(
    read("docs/contract.md").matchAll(/<a id="([rim][0-9]+)"><\/a>\*\*([RIM][0-9]+)\*\*/g),
    ([, anchor = "", number = ""]) => {
      assert.strictEqual(anchor, number.toLowerCase())
      return number
    }
  )
)

describe("docs/contract.md", () => {
  for (const folder of ["src/", "test/"]) {
    it(`states every ruling and invariant that ${folder} cites`, () => {
      const unresolved = Array.from(citationsIn(folder)).filter(([number]) => !stated.has(number))
      assert.deepStrictEqual(unresolved, [])
    })
  }

  it("states nothing that no test cites", () => {
    const cited = citationsIn("test/")
    assert.deepStrictEqual(
      Array.from(stated).filter((number) => !cited.has(number)),
      []
    )
  })
})
