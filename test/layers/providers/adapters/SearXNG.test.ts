import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { literalQuery } from "../../../../src/layers/providers/adapters/SearXNG.ts"

/** What SearXNG takes for a command: a part, between what Python calls whitespace, that begins with one of its signs. */
const isCommand = (part: string) => /^[!:<?]/.test(part)
const parts = (query: string) => query.split(/[\s\p{Cc}]+/u)

describe("literalQuery", () => {
  for (const [query, sent] of [
    ["!go cats", "'!go cats"],
    ["cats !go", "cats '!go"],
    ["!!", "'!!"],
    ["!!g cats", "'!!g cats"],
    [":de cats", "':de cats"],
    [":has() selector", "':has() selector"],
    ["<3 cats", "'<3 cats"],
    ["<div> in css", "'<div> in css"],
    ["?w cats", "'?w cats"],
    ['"say !important twice"', '"say \'!important twice"'],
    ["cats\u001c!go", "cats\u001c'!go"],
    ["wow! what? a:b x<y", "wow! what? a:b x<y"],
    ["C++ and C#", "C++ and C#"]
  ] as const) {
    it(`searches for ${JSON.stringify(query)} as text`, () => assert.strictEqual(literalQuery(query), sent))
  }

  it("leaves SearXNG no command in any query, and the text but for apostrophes as it was", () => {
    const text = fc.string({ unit: fc.constantFrom("!", ":", "<", "?", " ", "\u001c", "\u00a0", "a", "3", '"') })
    fc.assert(
      fc.property(text, (query) => {
        const sent = literalQuery(query)
        assert.isFalse(parts(sent).some(isCommand))
        assert.strictEqual(sent.replaceAll("'", ""), query)
      })
    )
  })
})
