import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import fc from "fast-check"
import { parseBulk } from "../../../src/domain/search/BulkRequest.ts"

const some = <A>(...values: ReadonlyArray<A>) => fc.constantFrom(...values)

/** Rows, and a body whose own fields are valid by themselves. */
const row = fc.oneof(
  some<unknown>("a", "", 5, null),
  fc.record(
    {
      query: some<unknown>("b", "", 1),
      target: some<unknown>("beta_search", "x"),
      num: some<unknown>(2, 15, 21, "2", null),
      page: some<unknown>(1, 2),
      safe: some<unknown>("off", "strict")
    },
    { requiredKeys: [] }
  )
)
const fields = fc.record(
  {
    target: some("gamma_search", "alpha_search"),
    geo: some("de", "zz"),
    locale: some("fr-fr"),
    source: some("ci"),
    num: fc.integer({ min: 1, max: 20 }),
    page: some<unknown>(1, 2, "x", null),
    safe: some<unknown>("off", "strict", "x", null)
  },
  { requiredKeys: [] }
)

describe("R17: the body's fields", () => {
  it("are those of every row that has none of its own", () => {
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), fields, (queries, fields) => {
        const carried = queries.map((entry) => {
          if (typeof entry === "string") return { ...fields, query: entry }
          return typeof entry === "object" && entry !== null ? { ...fields, ...entry } : entry
        })
        assert.deepStrictEqual(parseBulk({ ...fields, queries }), parseBulk({ queries: carried }))
      })
    )
  })

  it("yield to a row's own", () => {
    const own = { query: "a", target: "beta_search", geo: "fr", num: 2 }
    const fields = { target: "gamma_search", geo: "de", locale: "de-de", num: 5 }
    assert.deepStrictEqual(
      parseBulk({ ...fields, queries: [own] }),
      parseBulk({ queries: [{ ...own, locale: "de-de" }] })
    )
  })

  it("num: anything but a whole number from 1 to 20 fails the body, with any rows", () => {
    const wrong = fc.oneof(fc.integer({ max: 0 }), fc.integer({ min: 21 }), some<unknown>("5", 1.5, null, [], {}, true))
    fc.assert(
      fc.property(wrong, (num) => {
        const result = parseBulk({ queries: [{ query: "a", num: 1 }], num })
        assert.deepStrictEqual(
          Result.match(result, { onSuccess: () => [], onFailure: ({ issues }) => issues.map(({ field }) => field) }),
          ["num"]
        )
      })
    )
  })
})

describe("R70: the cost of a batch", () => {
  it("a row's list is not read beyond the 20 entries that it may have and one more", () => {
    let furthest = -1
    const include_domains = new Proxy(Array<unknown>(20_000).fill(1), {
      get: (list, key) => {
        if (typeof key === "string" && /^\d+$/.test(key)) furthest = Math.max(furthest, Number(key))
        return Reflect.get(list, key)
      }
    })
    const [row] = Result.getOrThrow(parseBulk({ queries: [{ query: "a", include_domains }] }))
    assert.isTrue(row !== undefined && Result.isFailure(row))
    assert.strictEqual(furthest, 20)
  })
})

describe("a batch", () => {
  it("R16: has 1 to 50 rows", () => {
    const rows = (count: number) => parseBulk({ queries: Array.from({ length: count }, () => "a") })
    assert.deepStrictEqual(
      [0, 1, 50, 51].map((count) => Result.isSuccess(rows(count))),
      [false, true, true, false]
    )
  })

  it("R17: refuses a row that asks for another page than the first, or for safe search", () => {
    const queries = [{}, { page: 1 }, { page: 2 }, { safe: "off" }, { safe: "strict" }].map((row) => ({
      query: "a",
      ...row
    }))
    const rows = Result.getOrThrow(parseBulk({ queries }))
    assert.deepStrictEqual(
      rows.map((row) => (Result.isFailure(row) ? row.failure._tag : "a search")),
      ["a search", "a search", "unsupported_parameter", "a search", "unsupported_parameter"]
    )
  })
})
