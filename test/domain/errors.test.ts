import { assert, describe, it } from "@effect/vitest"
import { InvalidRequest, NotFound, RateLimited } from "../../src/domain/errors.ts"

const framesOf = ({ stack = "" }: Error): number => stack.split("\n").filter((line) => /^ +at /.test(line)).length

describe("errors that refuse a request", () => {
  it("keep no trace of where they were made, and leave it to others", () => {
    assert.strictEqual(framesOf(RateLimited.of(5, 3)), 0)
    assert.strictEqual(framesOf(InvalidRequest.whole("it is empty")), 0)
    assert.isAbove(framesOf(new NotFound({ message: "nothing there" })), 0)
  })
})
