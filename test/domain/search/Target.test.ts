import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Safe, safeLevels, Target, targets } from "../../../src/domain/search/Target.ts"

// The limits of each target are tested through `parse`, in SearchRequest.test.ts.
describe("targets", () => {
  it("are the specification's six, in its order", () => {
    const six = ["alpha_search", "beta_search", "gamma_search", "delta_search", "epsilon_search", "zeta_search"]
    assert.deepStrictEqual([...targets], six)
    assert.deepStrictEqual(six.filter(Schema.is(Target)), six)
  })

  it("are spelled in one way", () => {
    for (const text of ["", "alpha", "ALPHA_SEARCH", "alpha_search ", "alpha-search", "constructor", "__proto__"]) {
      assert.isFalse(Schema.is(Target)(text))
    }
  })
})

describe("safe levels", () => {
  it("are off, moderate and strict, in lower case", () => {
    assert.deepStrictEqual([...safeLevels], ["off", "moderate", "strict"])
    for (const text of ["", "OFF", "on", "0", "true"]) assert.isFalse(Schema.is(Safe)(text))
  })
})
