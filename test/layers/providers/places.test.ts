import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { geos } from "../../../src/domain/search/Geo.ts"
import { placeOf, placeParameters } from "../../../src/layers/providers/places.ts"

const letter = fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz")
const pair = fc.tuple(letter, letter).map(([a, b]) => a + b)

describe("the place of a search", () => {
  it("is never sent to a provider with a value outside the list that the provider publishes", () => {
    const usual = fc.constantFrom("zh", "he", "nb", "no", "nn", "ja", "ko", "pt", "en", "jv", "uk", "gb")
    const places = fc.record({
      country: fc.option(fc.constantFrom(...geos), { nil: undefined }),
      language: fc.oneof(usual, pair),
      region: fc.oneof(fc.constantFrom(...geos), pair)
    })
    fc.assert(
      fc.property(
        places,
        fc.constantFrom(...Object.keys(placeParameters)),
        ({ country, language, region }, provider) => {
          const sent = placeOf(provider, { country, language, locale: `${language}-${region}` })
          for (const [name, value] of Object.entries(sent)) {
            const values = placeParameters[provider]?.[name]?.values
            assert.isTrue(value === undefined || values?.has(value), `${provider} ${name}=${value}`)
          }
        }
      ),
      { numRuns: 2_000 }
    )
  })

  it("is read from a list with its address and date", () => {
    for (const parameters of Object.values(placeParameters)) {
      for (const { readOn, source, values } of Object.values(parameters)) {
        assert.match(source, /^https:\/\//)
        assert.match(readOn, /^\d{4}-\d\d-\d\d$/)
        assert.isAbove(values.size, 5)
      }
    }
  })

  const table: ReadonlyArray<readonly [provider: string, country: string, locale: string, sent: object]> = [
    ["serpapi/google", "tw", "zh-tw", { gl: "tw", hl: "zh-tw" }],
    ["serpapi/google", "hk", "zh-hk", { gl: "hk", hl: "zh-tw" }],
    ["serpapi/google", "cn", "zh-cn", { gl: "cn", hl: "zh-cn" }],
    ["serpapi/google", "il", "he-il", { gl: "il", hl: "iw" }],
    ["serpapi/google", "no", "nb-no", { gl: "no", hl: "no" }],
    ["serpapi/google", "us", "qq-us", { gl: "us", hl: undefined }],
    ["serper", "tw", "zh-tw", { gl: "tw", hl: "zh-tw" }],
    ["serpapi/duckduckgo", "jp", "ja-jp", { kl: "jp-jp" }],
    ["serpapi/duckduckgo", "kr", "ko-kr", { kl: "kr-kr" }],
    ["serpapi/duckduckgo", "tw", "zh-tw", { kl: "tw-tzh" }],
    ["serpapi/duckduckgo", "hk", "zh-hk", { kl: "hk-tzh" }],
    ["serpapi/duckduckgo", "no", "nb-no", { kl: "no-no" }],
    ["serpapi/duckduckgo", "si", "sl-si", { kl: "sl-sl" }],
    ["serpapi/duckduckgo", "sl", "en-sl", { kl: undefined }],
    ["serpapi/duckduckgo", "gb", "en-gb", { kl: "uk-en" }],
    ["serpapi/duckduckgo", "jp", "en-jp", { kl: undefined }],
    ["serpapi/yandex", "de", "de-de", { lang: undefined }],
    ["serpapi/yahoo", "cn", "zh-cn", { vc: "cn", vl: "lang_zh_chs" }],
    ["serpapi/bing", "is", "is-is", { cc: undefined }],
    ["brave", "is", "is-is", { country: "ALL", search_lang: "is" }],
    ["brave", "jp", "ja-jp", { country: "JP", search_lang: "jp" }],
    ["brave", "gb", "en-gb", { country: "GB", search_lang: "en-gb" }],
    ["brave", "br", "pt-br", { country: "BR", search_lang: "pt-br" }],
    ["brave", "vn", "qq-vn", { country: "ALL", search_lang: undefined }],
    ["serpapi/duckduckgo", "il", "he-il", { kl: undefined }],
    ["serpapi/duckduckgo", "is", "is-is", { kl: "is-is" }],
    ["serpapi/yahoo", "gb", "en-gb", { vc: "gb", vl: "lang_en" }],
    ["serpapi/yahoo", "lt", "lt-lt", { vc: "lt", vl: "lang_lt" }],
    ["serpapi/google", "rs", "sr-rs", { gl: "rs", hl: "sr" }],
    ["brave", "gr", "el-gr", { country: "ALL", search_lang: undefined }],
    ["mojeek", "de", "de-de", { rb: "DE", lb: "DE" }],
    ["naver", "kr", "ko-kr", {}]
  ]
  for (const [provider, country, locale, sent] of table) {
    it(`of ${locale} in ${country} is ${JSON.stringify(sent)} for ${provider}`, () =>
      assert.deepEqual(placeOf(provider, { country, language: locale.slice(0, 2), locale }), sent))
  }
})
