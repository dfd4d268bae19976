import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { readModelArguments } from "../../../src/domain/requests/modelArguments.ts"

const row = {
  type: "object",
  properties: {
    query: { type: "string" },
    num: { type: "integer", minimum: 1 },
    domains: { type: "array", items: { type: "string" } },
    note: { anyOf: [{ type: "string" }, { type: "null" }] }
  },
  required: ["query"]
}

const schema = {
  type: "object",
  properties: {
    ...row.properties,
    page: { allOf: [{ type: "integer" }, { maximum: 5 }] },
    rows: { type: "array", items: { anyOf: [{ type: "string" }, row] } }
  },
  required: ["query"]
}

const read = (args: Record<string, unknown>) => readModelArguments(args, schema)

describe("R81: arguments as models write them", () => {
  it("null for an optional argument is absent, at any depth, and stays where it is required or has a meaning", () => {
    assert.deepStrictEqual(read({ query: null, num: null, domains: null, note: null, other: null }), {
      query: null,
      note: null
    })
    assert.deepStrictEqual(read({ query: "q", rows: ["a", { query: "b", num: null }, { query: null }] }), {
      query: "q",
      rows: ["a", { query: "b" }, { query: null }]
    })
  })

  it("a string of digits is that integer where one is expected, and nothing else is a number", () => {
    assert.deepStrictEqual(read({ query: "5", num: "5", page: "007", rows: [{ query: "6", num: "7" }] }), {
      query: "5",
      num: 5,
      page: 7,
      rows: [{ query: "6", num: 7 }]
    })
    for (const num of ["", " 5", "5.0", "-5", "+5", "5e2", "٥", "five", "0x5"]) {
      assert.deepStrictEqual(read({ num }), { num })
    }
    assert.deepStrictEqual(read({ num: "9".repeat(400) }), { num: Number.MAX_SAFE_INTEGER })
  })

  it("a single string is a list of one where a list is expected", () => {
    assert.deepStrictEqual(read({ domains: "a.org", rows: "q" }), { domains: ["a.org"], rows: ["q"] })
    assert.deepStrictEqual(read({ rows: [{ query: "q", domains: "b.org" }] }), {
      rows: [{ query: "q", domains: ["b.org"] }]
    })
    assert.deepStrictEqual(read({ domains: { a: "b" }, rows: 5 }), { domains: { a: "b" }, rows: 5 })
  })

  it("arguments that fit the schema stay as they are, and reading twice changes nothing more", () => {
    const fitting = fc.record({ query: fc.string(), num: fc.integer(), domains: fc.array(fc.string()) })
    fc.assert(
      fc.property(fitting, fc.array(fitting), (args, rows) => {
        assert.deepStrictEqual(read({ ...args, rows }), { ...args, rows })
      })
    )
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom("query", "num", "domains", "rows", "x"), fc.jsonValue()), (args) => {
        assert.deepStrictEqual(read(read(args)), read(args))
      })
    )
  })
})
