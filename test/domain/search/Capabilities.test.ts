import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import {
  type Capabilities,
  type Paging,
  planCalls,
  unsupportedReason
} from "../../../src/domain/search/Capabilities.ts"
import { searchRequest } from "../../support/api/requests.ts"

const everything: Capabilities = {
  paging: { kind: "fixed", pageSize: 10 },
  safe: ["off", "moderate", "strict"],
  countries: "any",
  languages: "any"
}

const planned = (capabilities: Capabilities, fields?: Parameters<typeof searchRequest>[0]) =>
  planCalls(capabilities, searchRequest(fields))

const paging: fc.Arbitrary<Paging> = fc.oneof(
  fc.record({ kind: fc.constant("fixed" as const), pageSize: fc.integer({ min: 1, max: 50 }) }),
  fc.record({ kind: fc.constant("sized" as const), maxPageSize: fc.integer({ min: 1, max: 50 }) }),
  fc.record({ kind: fc.constant("first" as const), maxRows: fc.constant(100) })
)

const asked = fc.record({ page: fc.integer({ min: 1, max: 5 }), num: fc.integer({ min: 1, max: 20 }) })

describe("planCalls", () => {
  it("R13: the calls hold the rows asked for, in order, and the first begins no page too early", () => {
    fc.assert(
      fc.property(asked, paging, ({ num, page }, paging) => {
        const { first, following, skip } = planned({ ...everything, paging }, { num, page })
        assert.strictEqual(first.offset + skip, (page - 1) * num)
        assert.isTrue(skip < first.rows)
        let next = first.offset + first.rows
        for (const call of following) {
          assert.isTrue(next < page * num, "no call is one too many")
          assert.strictEqual(call.offset, next)
          assert.strictEqual(call.offset, (call.page - 1) * call.rows)
          next += call.rows
        }
        assert.isTrue(next >= page * num)
      })
    )
  })

  it("an upstream whose pages are as large as asked for needs one call", () => {
    const sized: Capabilities = { ...everything, paging: { kind: "sized", maxPageSize: 20 } }
    fc.assert(
      fc.property(asked, (fields) => {
        const { first, following, skip } = planned(sized, fields)
        assert.deepStrictEqual([first.page, first.rows, skip, following.length], [fields.page, fields.num, 0, 0])
      })
    )
  })

  it("asks for no page that the upstream does not have: fewer rows are not an error", () => {
    const two: Capabilities = { ...everything, paging: { kind: "fixed", pageSize: 10, maxPages: 2 } }
    const { first, following } = planned(two, { num: 15, page: 2 })
    assert.deepStrictEqual([first.page, following.length], [2, 0])
    assert.isDefined(unsupportedReason(two, searchRequest({ num: 10, page: 3 })))
  })

  it("tells the country and the language only where they are known", () => {
    const some: Capabilities = { ...everything, countries: ["us", "de"], languages: "none" }
    assert.deepInclude(planned(some, { geo: "de", locale: "de-de" }).first, { country: "de", language: undefined })
    assert.deepInclude(planned(some, { geo: "ke", locale: "sw-ke" }).first, { country: undefined, locale: "sw-ke" })
    assert.deepInclude(planned(everything, { geo: "ke", locale: "sw-ke" }).first, { country: "ke", language: "sw" })
  })
})

describe("unserved", () => {
  const cases: ReadonlyArray<readonly [string, Partial<Capabilities>, Parameters<typeof searchRequest>[0], boolean]> = [
    ["a level it does not have", { safe: ["off"] }, { safe: "strict" }, false],
    ["off where it has no levels", { safe: ["off"] }, { safe: "off" }, true],
    ["rows beyond its first", { paging: { kind: "first", maxRows: 20 } }, { page: 3, num: 10 }, false],
    ["its last rows", { paging: { kind: "first", maxRows: 20 } }, { page: 2, num: 10 }, true],
    ["a page beyond its last", { paging: { kind: "sized", maxPageSize: 20, maxPages: 4 } }, { page: 5 }, false],
    ["its last page", { paging: { kind: "sized", maxPageSize: 20, maxPages: 5 } }, { page: 5 }, true],
    ["a query too long", { maxQueryCodePoints: 3 }, { query: "🦊🦊🦊🦊" }, false],
    ["a query just short enough", { maxQueryCodePoints: 4 }, { query: "🦊🦊🦊🦊" }, true],
    ["too many words", { maxQueryWords: 2 }, { query: "a b c" }, false],
    ["just as many words as it takes", { maxQueryWords: 3 }, { query: "a b c" }, true]
  ]
  for (const [what, capabilities, fields, served] of cases) {
    it(`${served ? "serves" : "refuses"} ${what}`, () => {
      const why = unsupportedReason({ ...everything, ...capabilities }, searchRequest(fields))
      assert.strictEqual(why === undefined, served)
    })
  }
})
