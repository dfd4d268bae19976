import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import {
  codePointLength,
  cutAtWord,
  cutCodePoints,
  isCarriable,
  normalizeWhitespace,
  waitText
} from "../../src/domain/text.ts"

const anyText = fc.string({
  unit: fc.oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    fc.constantFrom(" ", "\u200b", "\ufeff", "\u0085", "\0", "\ud800", "\udc00")
  )
})

describe("R10: whitespace", () => {
  it("is every code point with White_Space, U+200B and U+FEFF, and no other", () => {
    for (let codePoint = 0; codePoint <= 0x10ffff; codePoint++) {
      const character = String.fromCodePoint(codePoint)
      const space = /\p{White_Space}/u.test(character) || codePoint === 0x200b || codePoint === 0xfeff
      if ((normalizeWhitespace(character) === "") !== space) assert.fail(`U+${codePoint.toString(16)}`)
    }
  })

  it("normalising is idempotent, leaves single inner spaces only and drops nothing else", () => {
    const spaces = /[\p{White_Space}\u200b\ufeff]/gu
    fc.assert(
      fc.property(anyText, (text) => {
        const once = normalizeWhitespace(text)
        assert.strictEqual(normalizeWhitespace(once), once)
        assert.notMatch(once, /^ | $| {2}/)
        assert.strictEqual(once.replaceAll(" ", ""), text.replace(spaces, ""))
      })
    )
  })
})

describe("code points", () => {
  it("are counted, not UTF-16 units", () => {
    assert.strictEqual(codePointLength(""), 0)
    assert.strictEqual(codePointLength("a😀é"), 3)
    fc.assert(fc.property(anyText, (text) => codePointLength(text) === Array.from(text).length))
  })

  it("R11: a cut text is the beginning, of at most that many, with no pair halved", () => {
    fc.assert(
      fc.property(anyText, fc.nat(20), (text, count) => {
        const cut = cutCodePoints(text, count)
        assert.isTrue(text.startsWith(cut))
        assert.strictEqual(codePointLength(cut), Math.min(count, codePointLength(text)))
        assert.isTrue(cut.isWellFormed() || !text.isWellFormed())
      })
    )
  })
})

describe("cutAtWord", () => {
  it.each([
    ["one two three", 7, "one two"],
    ["one two three", 10, "one two"],
    ["one two", 7, "one two"],
    ["unbreakable", 5, "unbre"],
    ["東京都の天気予報を教えてください", 6, "東京都の天気"],
    ["👍🏽👍🏽👍🏽", 3, "👍🏽"]
  ])("R43: %j cut to %i code points is %j", (text, count, cut) => {
    assert.strictEqual(cutAtWord(text, count), cut)
  })

  it("R43: a cut text is the beginning, not longer than that, and not empty", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 20 }), (text, count) => {
        const cut = cutAtWord(text, count)
        assert.isTrue(text.startsWith(cut))
        assert.isAtMost(codePointLength(cut), count)
        if (text.trim() === text && text !== "") assert.isNotEmpty(cut)
      })
    )
  })
})

describe("R10: what Postgres and the engines cannot carry", () => {
  it("is a NUL or a lone surrogate, anywhere", () => {
    for (const text of ["\0", "a\0", "\ud800", "a\udc00b", "\udc00\ud800"]) assert.isFalse(isCarriable(text))
    for (const text of ["", "a", "😀", "\u0001", "\ufffd", "\uffff"]) assert.isTrue(isCarriable(text))
  })
})

describe("a wait for people", () => {
  it("is in the largest unit that is there twice, and never too short", () => {
    for (const [seconds, text] of [
      [1, "1 second"],
      [7, "7 seconds"],
      [119, "119 seconds"],
      [120, "2 minutes"],
      [841, "15 minutes"],
      [7199, "120 minutes"],
      [7200, "2 hours"],
      [86_400, "24 hours"]
    ] as const) {
      assert.strictEqual(waitText(seconds), text)
    }
  })
})

describe("the length of a text", () => {
  it("is what an iterator counts, lone surrogates included", () => {
    fc.assert(
      fc.property(anyText, (text) => assert.strictEqual(codePointLength(text), Array.from(text).length)),
      { numRuns: 2_000 }
    )
  })
})
