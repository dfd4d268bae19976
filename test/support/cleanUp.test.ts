import { assert, it } from "@effect/vitest"
import setup from "./cleanUp.ts"

it("a run of tests that a test starts has a name of its own, the same for each project", () => {
  const outer = process.env.QUARRY_TEST_RUN
  try {
    process.env.QUARRY_TEST_RUN = "outer_1_"
    setup()
    const inner = process.env.QUARRY_TEST_RUN
    setup()
    assert.notStrictEqual(inner, "outer_1_")
    assert.strictEqual(process.env.QUARRY_TEST_RUN, inner)
  } finally {
    if (outer === undefined) delete process.env.QUARRY_TEST_RUN
    else process.env.QUARRY_TEST_RUN = outer
  }
})
