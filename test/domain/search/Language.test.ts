import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { geos } from "../../../src/domain/search/Geo.ts"
import { placeOfLanguage } from "../../../src/domain/search/Language.ts"

describe("placeOfLanguage", () => {
  it.each([
    ["de", { locale: "de-de", geo: "de" }],
    ["de-AT", { locale: "de-at", geo: "at" }],
    ["de_ch", { locale: "de-ch", geo: "ch" }],
    ["en", { locale: "en-us", geo: "us" }],
    ["en-UK", { locale: "en-gb", geo: "gb" }],
    ["pt", { locale: "pt-br", geo: "br" }],
    ["zh_Hans_CN", { locale: "zh-cn", geo: "cn" }],
    ["zh-Hant", { locale: "zh-tw", geo: "tw" }],
    ["es-419", { locale: "es-es", geo: "es" }],
    ["fil", { geo: "ph" }],
    ["dz", { locale: "dz-bt" }],
    ["xx", {}]
  ])("R43: %s is %j", (tag, place) => {
    assert.deepStrictEqual(placeOfLanguage(tag), place)
  })

  it("R43: any text is either rejected or a valid language", () => {
    const tag = fc.oneof(fc.string(), fc.stringMatching(/^[a-z]{2,3}([-_][A-Za-z]{4})?([-_][A-Za-z]{2})?$/))
    fc.assert(
      fc.property(tag, (text) => {
        const place = placeOfLanguage(text)
        if (place?.locale !== undefined) assert.match(place.locale, /^[a-z]{2}-[a-z]{2}$/)
        if (place?.geo !== undefined) assert.include(geos, place.geo)
      })
    )
    assert.isUndefined(placeOfLanguage("x"))
    assert.isUndefined(placeOfLanguage(`en-${"a".repeat(100_000)}`))
  })
})
