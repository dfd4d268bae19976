import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { hasTooManyParameters, maxParameters } from "../../../src/domain/requests/parameters.ts"

describe("R70: hasTooManyParameters", () => {
  it("counts what is between the separators, unless it is empty", () => {
    const pair = fc.constantFrom("", "a", "a=1", "=", "%zz", "é")
    fc.assert(
      fc.property(fc.array(pair, { minLength: 50, maxLength: 200 }), (pairs) => {
        const count = pairs.filter((it) => it !== "").length
        assert.strictEqual(hasTooManyParameters(pairs.join("&")), count > maxParameters)
      })
    )
  })

  it("stops at the first parameter above the limit", () => {
    let searches = 0
    const text = "a&".repeat(1_000_000)
    const counting = Object.assign(Object(text) as string, {
      indexOf: (...args: Parameters<string["indexOf"]>) => {
        searches++
        return text.indexOf(...args)
      }
    })
    assert.isTrue(hasTooManyParameters(counting))
    assert.strictEqual(searches, maxParameters + 1)
  })
})
