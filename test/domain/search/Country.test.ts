import { assert, describe, it } from "@effect/vitest"
import { countryCode } from "../../../src/domain/search/Country.ts"
import { geos } from "../../../src/domain/search/Geo.ts"

/** Countries in the spelling of Tavily's documentation where it is not CLDR's. */
const tavily = {
  "bosnia and herzegovina": "ba",
  "cape verde": "cv",
  congo: "cg",
  "czech republic": "cz",
  myanmar: "mm",
  "trinidad and tobago": "tt",
  turkey: "tr",
  "united arab emirates": "ae",
  "united states": "us"
}

describe("countryCode", () => {
  it("R43: reads the English name of every country by CLDR, and its code in either letter case", () => {
    const names = new Intl.DisplayNames(["en"], { type: "region" })
    for (const geo of geos) {
      const name = names.of(geo.toUpperCase()) ?? ""
      for (const text of [name, name.toLowerCase(), ` ${name.toUpperCase()} `, geo, geo.toUpperCase()]) {
        assert.strictEqual(countryCode(text), geo, text)
      }
    }
  })

  it.each(Object.entries(tavily))("R43: %s is %s", (name, code) => {
    assert.strictEqual(countryCode(name), code)
  })

  it.each(["", "antarctica", "zz", "germany france", "constructor", "x".repeat(100_000)])(
    "R43: %j is not a country",
    (text) => {
      assert.isUndefined(countryCode(text))
    }
  )
})
