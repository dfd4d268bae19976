import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import fc from "fast-check"
import { Cursor, HistoryParameters, toHistoryQuery } from "../../../src/domain/log/QueryHistory.ts"
import { decoder } from "../../../src/domain/requests/fields.ts"

const decode = decoder(HistoryParameters)
const parseHistory = (raw: Record<string, unknown>) => Result.map(decode(raw), toHistoryQuery)
const encodeCursor = Schema.encodeSync(Cursor)

const issuesOf = (raw: Record<string, unknown>) =>
  Result.match(parseHistory(raw), { onSuccess: () => [], onFailure: ({ issues }) => issues.map(({ field }) => field) })

describe("GET /v1/query/history", () => {
  it("takes back every cursor it gave, and no other text", () => {
    const part = fc.bigInt({ min: 0n, max: 999_999_999_999_999_999n })
    fc.assert(
      fc.property(part, part, (atMicros, ordinal) => {
        const cursor = encodeCursor({ atMicros, ordinal })
        assert.match(cursor, /^[A-Za-z0-9_-]+$/)
        assert.deepStrictEqual(Result.getOrThrow(parseHistory({ cursor })).after, { atMicros, ordinal })
      })
    )
    fc.assert(fc.property(fc.string(), (cursor) => assert.deepStrictEqual(issuesOf({ cursor }), ["cursor"])))
    const beyond = Buffer.from("1234567890123456789.0").toString("base64url")
    for (const cursor of ["", "MTIz", "LTEuMA", beyond]) assert.deepStrictEqual(issuesOf({ cursor }), ["cursor"])
  })

  it("R6: names every field that is wrong, and R4: a repeated one", () => {
    const raw = {
      target: "x",
      status: "x",
      key: "",
      batch: "x".repeat(65),
      id: "",
      source: "",
      text: " ",
      from: "yesterday",
      to: ["2026-01-01", "2026-01-02"],
      cursor: "x",
      limit: "101"
    }
    assert.deepStrictEqual(issuesOf(raw), Object.keys(raw))
    assert.deepStrictEqual(issuesOf({ other: "ignored" }), [])
  })

  it("takes moments in ISO 8601 with their zone, and no others", () => {
    const from = (text: string) => Result.getOrThrow(parseHistory({ from: text })).filter.from
    assert.strictEqual(from("2026-01-31"), Date.UTC(2026, 0, 31))
    assert.strictEqual(from("2026-01-31T08:00Z"), Date.UTC(2026, 0, 31, 8))
    assert.strictEqual(from("2026-01-31T08:00:00.5+02:00"), Date.UTC(2026, 0, 31, 6, 0, 0, 500))
    assert.strictEqual(from("2024-02-29"), Date.UTC(2024, 1, 29))
    const wrong = ["2026-02-29", "2026-13-01", "2026-01-31T08:00:00", "2026-1-1", "31.1.2026", "0000-01-01", "1"]
    for (const text of wrong) assert.deepStrictEqual(issuesOf({ from: text }), ["from"], text)
    assert.deepStrictEqual(issuesOf({ from: "9999-12-31T23:59:59-14:00" }), ["from"])
  })

  it("serves 20 entries where nothing is said, and 1 to 100", () => {
    assert.strictEqual(Result.getOrThrow(parseHistory({})).limit, 20)
    assert.strictEqual(Result.getOrThrow(parseHistory({ limit: "100" })).limit, 100)
    for (const limit of ["0", "101", "1.0", "+1", ""]) assert.deepStrictEqual(issuesOf({ limit }), ["limit"], limit)
  })
})
