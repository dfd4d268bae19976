import { existsSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { mutate, readSource } from "../../scripts/mutations/Copy.ts"
import { makeTable, testedMutations } from "../../scripts/mutations/table.ts"

describe("the mutations", () => {
  it("fit the sources, each in one place, and name tests that exist", () => {
    assert.isAtLeast(testedMutations.length, 138)
    for (const mutation of testedMutations) {
      const text = readSource(mutation.file)
      assert.notStrictEqual(mutate(mutation, text), text)
      assert.isTrue(existsSync(mutation.test), mutation.test)
    }
    assert.strictEqual(new Set(testedMutations.map(({ name }) => name)).size, testedMutations.length)
  })

  it("are those of docs/internals/mutations.md (if not: npm run -s mutations -- --list)", () => {
    assert.strictEqual(readSource("docs/internals/mutations.md"), makeTable())
  })
})
