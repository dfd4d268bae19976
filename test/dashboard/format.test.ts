import { assert, describe, it } from "@effect/vitest"
import { formatMoney, formatNumber, formatRelative, localeFor, waitText } from "../../src/dashboard/format.ts"

const now = Date.parse("2026-11-27T12:00:00Z")

describe("figures in English sentences", () => {
  it("have the reader's order of day and month in every language", () => {
    const dayFirst = ["de", "tr", "ar-EG", "hi-u-nu-deva", "fa-IR", "en-GB", "fr"]
    for (const language of dayFirst) assert.strictEqual(localeFor(language), "en-GB", language)
    for (const language of ["en-US", "ja", "ja-JP-u-ca-japanese", "zh-TW", "hu"])
      assert.strictEqual(localeFor(language), "en-US", language)
  })

  it("have English words, ASCII digits, and a currency that no other country has", () => {
    assert.strictEqual(formatNumber(1_234_567.5), "1,234,567.5")
    assert.strictEqual(formatMoney(80), "US$0.80")
    assert.strictEqual(formatMoney(120_000), "US$1,200")
    assert.strictEqual(formatRelative("2026-11-30T12:00:00Z", now), "in 3 days")
    assert.deepStrictEqual([1, 10, 119, 600, 86_400].map(waitText), [
      "1 second",
      "10 seconds",
      "119 seconds",
      "10 minutes",
      "24 hours"
    ])
  })
})
