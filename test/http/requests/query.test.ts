import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import * as fc from "fast-check"
import { vi } from "vitest"
import { undecodable } from "../../../src/domain/requests/fields.ts"
import { maxParameters } from "../../../src/domain/requests/parameters.ts"
import { parseQuery } from "../../../src/http/requests/query.ts"
import { everyShape } from "../../support/api/Compat.ts"
import { aCaller, found, providing, services } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"

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

  it.effect("is reported first, before any other mistake", () =>
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
  const parse = (query: string) => Result.getOrThrow(parseQuery(query))

  it("reads what URLSearchParams writes, and keeps two values of a repeated parameter (R70)", () => {
    const pairs = fc.array(fc.tuple(fc.string({ unit: "binary", minLength: 1, maxLength: 3 }), text), {
      maxLength: maxParameters
    })
    fc.assert(
      fc.property(pairs, (pairs) => {
        const expected: Record<string, Array<string>> = Object.create(null)
        for (const [name, value] of pairs) expected[name] = [...(expected[name] ?? []), value].slice(0, 2)
        const parsed = parse(new URLSearchParams(pairs).toString())
        assert.deepStrictEqual(Object.keys(parsed), Object.keys(expected))
        for (const name in parsed) assert.deepStrictEqual([parsed[name]].flat(), expected[name])
      })
    )
  })

  it("reads any text without failing, and marks what it cannot decode", () => {
    fc.assert(fc.property(fc.string({ unit: "binary-ascii" }), (query) => void parseQuery(query)))
    assert.deepStrictEqual(parse("a=%zz").a, [undecodable])
  })

  it("R70: decodes a name and a value for each parameter, and nothing of a query that has too many", () => {
    const decode = vi.spyOn(globalThis, "decodeURIComponent")
    try {
      parse("a=%zz&".repeat(maxParameters))
      assert.strictEqual(decode.mock.calls.length, 2 * maxParameters)
      decode.mockClear()
      assert.isTrue(Result.isFailure(parseQuery("a=%zz&".repeat(maxParameters + 1))))
      assert.strictEqual(decode.mock.calls.length, 0)
    } finally {
      decode.mockRestore()
    }
  })
})

const many = (count: number, name = "a") => Array.from({ length: count }, (_, n) => `${name}${n}=%zz`).join("&")
const wholeIssue = [{ field: "", message: "a query string or form may have at most 64 parameters" }]

describe("R70: a query string has at most 64 parameters", () => {
  it.effect("64 that are not listed are ignored, and empty ones do not count", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "trial" })
      const api = yield* TestApi.make
      const answer = yield* api.get(`/v1/query?query=a&${many(maxParameters - 1)}${"&".repeat(500)}`, caller.auth)
      assert.strictEqual(answer.status, 200)
    }).pipe(Effect.provide(layer))
  )

  it.effect("one more is invalid_request as a whole, behind the gates of R1", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "trial" })
      const api = yield* TestApi.make
      const tooMany = `query=a&${many(maxParameters)}`
      for (const [path, left] of [
        ["/v1/query", "59"],
        ["/v1/me", "58"]
      ]) {
        const answer = yield* api.get(`${path}?${tooMany}`, caller.auth)
        assert.strictEqual(answer.status, 400, path)
        assert.deepStrictEqual(answer.json.issues, wholeIssue)
        assert.strictEqual(answer.headers.get("x-ratelimit-remaining"), left)
      }
      assert.strictEqual((yield* api.get(`/v1/query?${tooMany}`)).status, 401)
      assert.strictEqual((yield* api.get(`/v1/nothing?${tooMany}`, caller.auth)).status, 404)
      assert.strictEqual((yield* api.get("/v1/me", caller.auth)).json.credits_available, 100)
    }).pipe(Effect.provide(layer))
  )

  it.effect("a third value of a parameter is the issue of the second (R4)", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "trial" })
      const api = yield* TestApi.make
      for (const query of ["query=a&geo=us&geo=us", "query=a&geo=us&geo=us&geo=us", "query=a&geo=%zz&geo=us&geo=us"]) {
        const answer = yield* api.get(`/v1/query?${query}`, caller.auth)
        assert.deepStrictEqual(answer.json.issues, [{ field: "geo", message: "must be sent only once" }])
      }
    }).pipe(Effect.provide(layer))
  )

  const paths = [
    "/v1/query",
    "/v1/usage",
    "/v1/query/history",
    "/mcp",
    "/compat/searxng/search",
    "/oauth/sign-in",
    "/oauth/confirm",
    "/api/auth/get-session",
    "/v1/webhooks/unsubscribe",
    "/docs",
    "/openapi.json",
    "/nothing"
  ]
  it.effect.each(paths)("%s: nobody decodes the parameters of a longer one, not even the router", (path) =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "trial" })
      const api = yield* TestApi.make
      const decode = vi.spyOn(globalThis, "decodeURIComponent")
      const answers = [yield* api.get(`${path}?${many(2000)}`, caller.auth), yield* api.get(`${path}?${many(2000)}`)]
      const decoded = decode.mock.calls.filter(([text]) => text.includes("%zz")).length
      decode.mockRestore()
      assert.strictEqual(decoded, 0)
      for (const { status } of answers) assert.isBelow(status, 500)
    }).pipe(Effect.provide(Layer.provideMerge(everyShape, layer)))
  )
})
