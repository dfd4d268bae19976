import { afterAll, assert, describe, it } from "@effect/vitest"
import { makeCopy, tryMutation } from "../../scripts/mutations/Copy.ts"
import { sampleOf } from "../../scripts/mutations/sample.ts"
import { testedMutations } from "../../scripts/mutations/table.ts"

const sampled = 4

const seed = Date.now() % 100_000

describe(`mutations (npm run mutations -- --sample ${sampled} --seed ${seed})`, () => {
  const copy = makeCopy()
  afterAll(copy.remove)

  it.each(sampleOf(testedMutations, sampled, seed))("finds that $name", { timeout: 300_000 }, async (mutation) => {
    const { foundBy } = await tryMutation(copy.directory, mutation)
    assert.isDefined(foundBy, `no test of ${mutation.test} found it`)
  })
})
