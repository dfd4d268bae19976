import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { visibleText } from "../../../src/domain/pages/visibleText.ts"

const smuggled = [
  0xad, 0x200b, 0x2060, 0x2066, 0x206f, 0x202a, 0x202e, 0x200e, 0x061c, 0xfeff, 0xe0000, 0xe0041, 0xe007f, 0xe0100,
  0xe01ef
]

describe("visible text", () => {
  it("R60: has none of the characters that smuggle instructions, wherever they stand", () => {
    const character = fc.constantFrom(...smuggled.map((code) => String.fromCodePoint(code)))
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string({ unit: "binary" }), character)), (parts) => {
        const shown = visibleText(parts.join(""))
        for (const code of smuggled) assert.notInclude(shown, String.fromCodePoint(code))
        assert.isTrue(shown.isWellFormed())
        assert.notMatch(shown, /[\p{Cc}--[\t\n]]/v)
      })
    )
  })

  it("R60: leaves text without such characters as it is, and is done after one pass", () => {
    fc.assert(fc.property(fc.string({ unit: "grapheme-ascii" }), (text) => assert.strictEqual(visibleText(text), text)))
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) =>
        assert.strictEqual(visibleText(visibleText(text)), visibleText(text))
      )
    )
  })

  it("R60: keeps joiners in Persian, Indic words and emoji, and removes them elsewhere", () => {
    for (const word of ["می\u200cخواهم", "क्\u200dष", "👩\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈", "👩🏽\u200d🚀"]) {
      assert.strictEqual(visibleText(word), word)
    }
    assert.strictEqual(visibleText("a \u200d\u200c\u200d b\u200c"), "a  b")
  })

  it("has line feeds for every kind of line end", () => {
    assert.strictEqual(visibleText("a\r\nb\rc\u2028d\u0085e"), "a\nb\nc\nd\ne")
  })
})
