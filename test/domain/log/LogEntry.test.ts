import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Outcome } from "../../../src/domain/log/LogEntry.ts"

describe("I5: the outcomes of a logged search", () => {
  it("are those that are charged: 200, 502 and 504", () => {
    const codes = [
      "ok",
      "upstream_error",
      "upstream_timeout",
      "internal_error",
      "quota_exceeded",
      "invalid_request",
      ""
    ]
    assert.deepStrictEqual(codes.filter(Schema.is(Outcome)), ["ok", "upstream_error", "upstream_timeout"])
  })
})
