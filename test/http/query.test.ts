import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { undecodableValue } from "../../src/domain/fields.ts"
import { parseQuery } from "../../src/http/query.ts"
import { aCaller, found, providing, services } from "../support/Services.ts"
import * as TestApi from "../support/TestApi.ts"

const layer = services(providing(() => Effect.succeed(found(1))))

describe("R4: a value whose percent-encoding is broken or not UTF-8", () => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
    ["query=%zz", ["query"]],
    ["query=100%", ["query"]],
    ["query=a%2", ["query"]],
    ["query=%ff", ["query"]],
    ["query=caf%e9", ["query"]],
    ["query=%ed%a0%80", ["query"]],
    ["query=%c0%af", ["query"]],
    ["query=a&geo=%zz", ["geo"]],
    ["query=a&locale=%zz", ["locale"]],
    ["query=a&source=%zz", ["source"]],
    ["query=a&target=%zz", ["target"]],
    ["query=%zz&num=abc&safe=%fe", ["query", "num", "safe"]],
    ["query=a&query=%zz", ["query"]],
    ["query=%zz&%zz=%zz", ["query"]]
  ]
  for (const [query, fields] of cases) {
    it.effect(`${query} fails ${fields.join(", ")}, and costs a hit and no credit`, () =>
      Effect.gen(function* () {
        const caller = yield* aCaller({ plan: "trial" })
        const api = yield* TestApi.make
        const answer = yield* api.get(`/v1/query?${query}`, caller.auth)
        assert.strictEqual(answer.status, 400)
        assert.strictEqual(answer.json.error, "invalid_request")
        assert.sameMembers(
          answer.json.issues.map(({ field }: { readonly field: string }) => field),
          [...fields]
        )
        assert.strictEqual(answer.headers.get("x-ratelimit-remaining"), "59")
        assert.strictEqual((yield* api.get("/v1/me", caller.auth)).json.credits_available, 100)
      }).pipe(Effect.provide(layer))
    )
  }

  it.effect("is told so, whatever else would be wrong with it", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "trial" })
      const api = yield* TestApi.make
      const answer = yield* api.get("/v1/query?query=a&page=%zz", caller.auth)
      assert.deepStrictEqual(answer.json.issues, [{ field: "page", message: "must be percent-encoded UTF-8" }])
    }).pipe(Effect.provide(layer))
  )

  it.effect("is ignored in a parameter outside the table", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "trial" })
      const api = yield* TestApi.make
      const answer = yield* api.get("/v1/query?query=50%25+off&utm=%zz&%ff=1", caller.auth)
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.json.query, "50% off")
    }).pipe(Effect.provide(layer))
  )
})

describe("parseQuery", () => {
  const text = fc.string({ unit: "binary" })

  it("reads what URLSearchParams writes, each value that is repeated as a list", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ unit: "binary", minLength: 1 }), text)), (pairs) => {
        const expected: Record<string, Array<string>> = Object.create(null)
        for (const [name, value] of pairs) expected[name] = [...(expected[name] ?? []), value]
        const parsed = parseQuery(new URLSearchParams(pairs).toString())
        assert.deepStrictEqual(Object.keys(parsed), Object.keys(expected))
        for (const name in parsed) assert.deepStrictEqual([parsed[name]].flat(), expected[name])
      })
    )
  })

  it("reads any text without failing, and marks what it cannot decode", () => {
    fc.assert(fc.property(fc.string({ unit: "binary-ascii" }), (query) => void parseQuery(query)))
    assert.deepStrictEqual(parseQuery("a=%zz").a, [...undecodableValue])
  })
})
