import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, it } from "@effect/vitest"

const src = fileURLToPath(new URL("../../src/", import.meta.url))

it("the key of each reference starts with quarry/references/, so that the listener keeps it for requests", () => {
  let references = 0
  for (const path of readdirSync(src, { recursive: true, encoding: "utf8" }).filter((each) => each.endsWith(".ts"))) {
    const text = readFileSync(`${src}${path}`, "utf8")
    for (const [, kind, key] of text.matchAll(/Context\.(Reference|Service)\b[^"]*"(quarry\/[^"]+)"/g)) {
      assert.strictEqual(key?.startsWith("quarry/references/"), kind === "Reference", `${path}: ${key}`)
      if (kind === "Reference") references++
    }
  }
  assert.isAbove(references, 20)
})
