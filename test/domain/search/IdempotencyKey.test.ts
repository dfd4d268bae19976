import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { parseIdempotencyKey } from "../../../src/domain/search/IdempotencyKey.ts"

const visible = Array.from({ length: 0x7f - 0x21 }, (_, index) => String.fromCharCode(0x21 + index))
const key = fc.string({ unit: fc.constantFrom(...visible), minLength: 1, maxLength: 255 })
const quote = (text: string) => `"${text.replaceAll(/["\\]/g, "\\$&")}"`

describe("Idempotency-Key", () => {
  it("R44: any visible ASCII up to 255 characters is a key, bare or quoted", () => {
    fc.assert(
      fc.property(key, (text) => {
        assert.deepStrictEqual(parseIdempotencyKey(quote(text)), Result.succeed(text))
        if (!text.startsWith('"')) assert.deepStrictEqual(parseIdempotencyKey(text), Result.succeed(text))
      })
    )
  })

  it("R44: other characters, none, and too many are refused", () => {
    for (const text of [
      "",
      '""',
      " ",
      "a b",
      "a\tb",
      "ü",
      '"a',
      '"a"b"',
      '"\\n"',
      "x".repeat(256),
      quote("x".repeat(256))
    ])
      assert.isTrue(Result.isFailure(parseIdempotencyKey(text)), text)
  })
})
