import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import fc from "fast-check"
import { NewKey } from "../../../src/domain/keys/NewKey.ts"
import { decoder } from "../../../src/domain/requests/fields.ts"

const parseNewKey = decoder(NewKey)

const issuesOf = (body: unknown) =>
  Result.match(parseNewKey(body), { onSuccess: () => [], onFailure: ({ issues }) => issues.map(({ field }) => field) })

describe("POST /v1/api-keys", () => {
  it("takes a name and a type, which may be absent", () => {
    assert.deepStrictEqual(Result.getOrThrow(parseNewKey({ name: " my  key ", type: "test" })), {
      name: "my key",
      type: "test"
    })
    assert.deepStrictEqual(Result.getOrThrow(parseNewKey({ name: "é".repeat(100) })), { name: "é".repeat(100) })
  })

  it("R6: names every field that is wrong", () => {
    assert.deepStrictEqual(issuesOf({ type: "prod" }), ["name", "type"])
    assert.deepStrictEqual(issuesOf({ name: 1, type: 1 }), ["name", "type"])
    for (const name of ["", " ", "x".repeat(101), "a\0b", "a\u0007b", "\ud800", null]) {
      assert.deepStrictEqual(issuesOf({ name }), ["name"], String(name))
    }
    for (const body of [null, [], "x", 1]) assert.deepStrictEqual(issuesOf(body), [""])
  })

  it("never throws", () => {
    fc.assert(fc.property(fc.jsonValue(), (body) => void parseNewKey(body)))
  })
})
