import { readdirSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { readDocument } from "../../../src/layers/pages/readDocument.ts"

/** Pages in the markup of widely used generators and frameworks, written for this test, each with its right Markdown. */
const folder = new URL("written/", import.meta.url)
const names = readdirSync(folder).flatMap((file) => (file.endsWith(".html") ? [file.slice(0, -".html".length)] : []))

describe("R60: pages of generators are read as their authors wrote them", () => {
  it("has at least 60 pages", () => assert.isAtLeast(names.length, 60))

  for (const name of names) {
    it(name, async () => {
      const bytes = new Uint8Array(readFileSync(new URL(`${name}.html`, folder)))
      const page = await readDocument({ bytes, contentType: "text/html", url: `https://example.org/${name}` })
      assert(typeof page !== "string", `not read: ${page}`)
      assert.strictEqual(`${page.markdown}\n`, readFileSync(new URL(`${name}.md`, folder), "utf8"))
    })
  }
})
