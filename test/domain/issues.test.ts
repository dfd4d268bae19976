import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import fc from "fast-check"
import { PerplexityRequest } from "../../src/compat/services/perplexity.ts"
import { TavilyRequest } from "../../src/compat/services/tavily.ts"
import { InvalidRequest, maxIssueCharacters, maxIssues } from "../../src/domain/errors.ts"
import { ApiKeyChange, NewKey } from "../../src/domain/keys/NewKey.ts"
import { HistoryParameters, RecentParameters } from "../../src/domain/log/QueryHistory.ts"
import { toUsageQuery, UsageParameters } from "../../src/domain/log/Usage.ts"
import { decoder, maxListEntries } from "../../src/domain/requests/fields.ts"
import { parseBulk } from "../../src/domain/search/BulkRequest.ts"
import { jsonSearchFields, SearchParameters, searchRules } from "../../src/domain/search/SearchRequest.ts"
import { EventSettingsChange, NewWebhook, WebhookChange } from "../../src/domain/webhooks/WebhookRequest.ts"

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

const length = (value: unknown): number => JSON.stringify(value).length

/** R70, and R6's one issue for each field. */
const assertBounded = ({ issues, message }: InvalidRequest) => {
  assert.isAtMost(issues.length, maxIssues)
  for (const { field, message } of issues) assert.isAtMost(field.length + message.length, maxIssueCharacters)
  assert.isAtMost(message.length, (maxIssues + 1) * maxIssueCharacters)
}

const assertOnePerField = (refused: unknown) => {
  if (!(refused instanceof InvalidRequest)) return
  const fields = refused.issues.map(({ field }) => field)
  assert.deepStrictEqual([...new Set(fields)], fields)
  assert.isNotEmpty(fields)
  assertBounded(refused)
}

describe("one issue a field", () => {
  const parsers: ReadonlyArray<
    readonly [string, fc.Arbitrary<Record<string, unknown>>, (raw: Record<string, unknown>) => unknown]
  > = [
    ["GET /v1/query", fieldsOf(search, parameter), decoder(SearchParameters)],
    [
      "the arguments of a tool",
      fieldsOf(search, value),
      decoder(Schema.Struct(jsonSearchFields).check(...searchRules))
    ],
    ["a row of a batch", fieldsOf(search, value), firstRow],
    ["POST /v1/bulk", fieldsOf(["queries", ...search], value), parseBulk],
    ["POST /v1/api-keys", fieldsOf(["name", "type", "other"], value), decoder(NewKey)],
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

describe("R70: lists", () => {
  /** Every decoder of a body, with the lists that it reads and an entry that each may have. */
  const lists: ReadonlyArray<readonly [string, (raw: unknown) => unknown, object, string, unknown]> = [
    ["POST /v1/bulk", parseBulk, {}, "queries", "a"],
    ["POST /v1/api-keys", decoder(NewKey), { name: "a" }, "targets", "alpha_search"],
    ["POST /v1/api-keys", decoder(NewKey), { name: "a" }, "networks", "203.0.113.0/24"],
    ["PATCH /v1/api-keys/{id}", decoder(ApiKeyChange), {}, "networks", "203.0.113.0/24"],
    ["POST /v1/webhooks", decoder(NewWebhook), { url: "https://example.com/" }, "events", "credits.low"],
    ["PATCH /v1/webhooks/{id}", decoder(WebhookChange), {}, "events", "credits.low"],
    ["PATCH /v1/webhooks/settings", decoder(EventSettingsChange), {}, "low_percents", 1],
    ["PATCH /v1/webhooks/settings", decoder(EventSettingsChange), {}, "email_events", "credits.low"],
    ["Tavily", decoder(TavilyRequest), { query: "a" }, "include_domains", "example.com"],
    ["Tavily", decoder(TavilyRequest), { query: "a" }, "exclude_domains", "example.com"],
    ["Perplexity", decoder(PerplexityRequest), {}, "query", "a"]
  ]

  /** A list that counts how many of its entries somebody reads. */
  const counting = (entries: ReadonlyArray<unknown>) => {
    const read = new Set<PropertyKey>()
    const list = new Proxy(entries, {
      get: (target, property, receiver) => {
        if (typeof property === "string" && /^[0-9]+$/.test(property)) read.add(property)
        return Reflect.get(target, property, receiver)
      }
    })
    return { list, read }
  }

  for (const [name, parse, rest, field, valid] of lists) {
    it(`${name}: only the first entries of ${field} are read if it is longer than any list may be`, () => {
      for (const entry of [valid, 1, null, "", {}, []]) {
        const { list, read } = counting(Array(100_000).fill(entry))
        const result = parse({ ...rest, [field]: list }) as Result.Result<unknown, unknown>
        if (Result.isSuccess(result)) assert.fail(`${JSON.stringify(entry)} is accepted`)
        assertOnePerField(result.failure)
        assert.isAtMost(read.size, maxListEntries + 1)
      }
    })

    it(`${name}: a list of ${field} may have valid entries only up to its own limit`, () => {
      const isAccepted = (count: number) =>
        Result.isSuccess(parse({ ...rest, [field]: Array(count).fill(valid) }) as Result.Result<unknown, unknown>)
      assert.isTrue(isAccepted(1))
      for (const count of [maxListEntries + 1, maxListEntries + 2, 1000]) assert.isFalse(isAccepted(count))
    })
  }

  it("any JSON in any field has bounded issues", () => {
    const json = fc.oneof(fc.jsonValue(), fc.array(fc.constantFrom(1, null, "", "x".repeat(1000)), { maxLength: 400 }))
    fc.assert(
      fc.property(fc.constantFrom(...lists), json, json, ([, parse, rest, field], value, other) => {
        const result = parse({ ...rest, other, [field]: value }) as Result.Result<unknown, unknown>
        if (Result.isFailure(result)) assertOnePerField(result.failure)
      }),
      { numRuns: 500 }
    )
  })

  it("the rows of a batch are bounded, with any content", () => {
    const row = fc.oneof(fc.jsonValue(), fieldsOf(search, fc.oneof(value, fc.constant("x".repeat(5000)))))
    fc.assert(
      fc.property(fc.array(row, { minLength: 50, maxLength: 50 }), (queries) => {
        const rows = Result.getOrThrow(parseBulk({ queries }))
        const messages = rows.flatMap((row) => (Result.isFailure(row) ? [row.failure.message] : []))
        assert.isBelow(length(messages), 100_000)
      }),
      { numRuns: 200 }
    )
  })
})
