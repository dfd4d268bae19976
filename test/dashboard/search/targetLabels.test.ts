import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { labelIn, parseTargetLabels, targetTextIn } from "../../../src/dashboard/search/targetLabels.ts"

describe("names of targets (R73)", () => {
  it("are shown beside the identifier, and keep their direction to themselves", () => {
    const labels = parseTargetLabels(JSON.stringify({ alpha_search: { name: " أخبار ", about: "All news." } }))
    assert.strictEqual(targetTextIn(labels, "alpha_search"), "alpha_search — \u2068أخبار\u2069")
    assert.strictEqual(labelIn(labels, "alpha_search").about, "All news.")
    assert.strictEqual(targetTextIn(labels, "beta_search"), "beta_search")
    assert.strictEqual(targetTextIn(labels, "constructor"), "constructor")
  })

  it("are left out if they are not readable", () => {
    for (const text of [
      undefined,
      "",
      "{",
      "null",
      "3",
      '"a"',
      '{"alpha_search":null}',
      '{"alpha_search":{"name":3}}'
    ]) {
      assert.strictEqual(targetTextIn(parseTargetLabels(text), "alpha_search"), "alpha_search")
    }
  })

  it("never throw for any document", () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => typeof parseTargetLabels(text) === "object"))
  })
})
