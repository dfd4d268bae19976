import { randomBytes } from "node:crypto"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as AnswerBytes from "../../../../src/layers/sql/search/AnswerBytes.ts"

it.effect("R44: an answer of any size below the limit comes back as it was", () =>
  Effect.gen(function* () {
    for (const text of ["{}", "猫".repeat(20_000), randomBytes(500_000).toString("base64")]) {
      const bytes = yield* AnswerBytes.pack(text)
      assert.isBelow(bytes.length, 1_048_577)
      assert.strictEqual(yield* AnswerBytes.unpack(bytes), text)
    }
  })
)

it.effect("R44: an answer above a mebibyte after compression, or of 16 mebibytes before, is not kept", () =>
  Effect.gen(function* () {
    for (const text of [randomBytes(2_000_000).toString("base64"), "a".repeat(16 * 1_048_576 + 1)]) {
      const bytes = yield* AnswerBytes.pack(text)
      assert.lengthOf(bytes, 0)
      assert.isUndefined(yield* AnswerBytes.unpack(bytes))
    }
  })
)
