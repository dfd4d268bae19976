import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import fc from "fast-check"
import { parseBulk } from "../../src/domain/BulkRequest.ts"
import { InvalidRequest } from "../../src/domain/errors.ts"
import { decoder } from "../../src/domain/fields.ts"
import { parseNewKey } from "../../src/domain/NewKey.ts"
import { HistoryParameters, RecentParameters } from "../../src/domain/QueryHistory.ts"
import { jsonSearchFields, pageWithinTarget, SearchParameters } from "../../src/domain/SearchRequest.ts"
import { toUsageQuery, UsageParameters } from "../../src/domain/Usage.ts"

/** Fields that nearly fit, beside anything at all. */
const text = fc.oneof(
  fc.constantFrom("", "0", "1", "6", "21", "99999", "us", "en-us", "alpha_search", "beta_search", "hour", "month"),
  fc.constantFrom("1970-01-01", "2026-03-02", "2026-03-02T00:00:00Z", "9999-12-31", "x", "\0", "a".repeat(500)),
  fc.string()
)
const parameter = fc.oneof(text, fc.array(text, { maxLength: 3 }))
const value = fc.oneof(parameter, fc.constantFrom(0, 1, 6, 21, 1.5, null, true), fc.jsonValue())

const fieldsOf = <A>(names: ReadonlyArray<string>, values: fc.Arbitrary<A>) =>
  fc.record(Object.fromEntries(names.map((name) => [name, values])), { requiredKeys: [] })

const search = ["query", "target", "geo", "locale", "page", "num", "safe", "source", "other"]

const from = Date.parse("2026-03-01")
const decodeUsage = decoder(UsageParameters)
const usage = (raw: Record<string, unknown>) =>
  Result.flatMap(decodeUsage(raw), (parameters) => toUsageQuery(parameters, { from, to: from + 86_400_000 }))

const firstRow = (row: Record<string, unknown>) => Result.getOrThrow(parseBulk({ queries: [row] }))[0]

const assertOnePerField = (refused: unknown) => {
  if (!(refused instanceof InvalidRequest)) return
  const fields = refused.issues.map(({ field }) => field)
  assert.deepStrictEqual([...new Set(fields)], fields)
  assert.isNotEmpty(fields)
}

describe("one issue a field", () => {
  const parsers: ReadonlyArray<
    readonly [string, fc.Arbitrary<Record<string, unknown>>, (raw: Record<string, unknown>) => unknown]
  > = [
    ["GET /v1/query", fieldsOf(search, parameter), decoder(SearchParameters)],
    [
      "the arguments of a tool",
      fieldsOf(search, value),
      decoder(Schema.Struct(jsonSearchFields).check(pageWithinTarget))
    ],
    ["a row of a batch", fieldsOf(search, value), firstRow],
    ["POST /v1/bulk", fieldsOf(["queries", ...search], value), parseBulk],
    ["POST /v1/api-keys", fieldsOf(["name", "type", "other"], value), parseNewKey],
    ["GET /v1/query/recent", fieldsOf(["limit", "other"], parameter), decoder(RecentParameters)],
    [
      "GET /v1/query/history",
      fieldsOf(["target", "status", "key", "batch", "source", "text", "from", "to", "cursor", "limit"], parameter),
      decoder(HistoryParameters)
    ],
    ["GET /v1/usage", fieldsOf(["from", "to", "granularity", "group_by"], parameter), usage]
  ]
  for (const [name, raws, parser] of parsers) {
    it(name, () => {
      fc.assert(
        fc.property(raws, (raw) => {
          // Each parser answers a Result; what it holds differs.
          const result = parser(raw) as Result.Result<unknown, unknown>
          if (Result.isFailure(result)) assertOnePerField(result.failure)
        }),
        { numRuns: 2000 }
      )
    })
  }

  it("GET /v1/usage: a begin that is none is not judged beside the end too", () => {
    const result = usage({ from: "yesterday", to: "9999-12-31", granularity: "hour" })
    assert.isTrue(Result.isFailure(result))
    if (Result.isFailure(result)) assert.lengthOf(result.failure.issues, 1)
  })

  it("GET /v1/usage: a group that is none and a begin after the end are told together (R6)", () => {
    const result = usage({ from: "2026-03-03", to: "2026-03-02", group_by: "x" })
    const fields = Result.isFailure(result) ? result.failure.issues.map(({ field }) => field) : []
    assert.deepStrictEqual(fields, ["from", "group_by"])
  })
})
