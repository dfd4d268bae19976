import { existsSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { mutate, readSource } from "../../scripts/mutations/Copy.ts"
import { contractMutations } from "../../scripts/mutations/contract.ts"

describe("the mutations of the contract", () => {
  it("fit the sources, each in one place, and name tests that exist", () => {
    assert.isAtLeast(contractMutations.length, 60)
    for (const mutation of contractMutations) {
      const text = readSource(mutation.file)
      assert.notStrictEqual(mutate(mutation, text), text)
      for (const file of mutation.tests) assert.isTrue(existsSync(file), file)
    }
    assert.strictEqual(new Set(contractMutations.map(({ name }) => name)).size, contractMutations.length)
  })
})
