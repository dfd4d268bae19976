import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { readPublished } from "../../../src/domain/options/published.ts"
import { datesOf, isInDates, isInSpan, spanOf } from "../../../src/domain/options/SearchOptions.ts"
import { parseBulk } from "../../../src/domain/search/BulkRequest.ts"
import { parseParameters, toSearch } from "../../../src/domain/search/SearchRequest.ts"
import { keyedRequest } from "../../../src/services/charging/Idempotency.ts"
import { cacheKey } from "../../../src/services/search/ResultCache.ts"

const decode = (fields: Record<string, unknown>) => {
  const decoded = Result.flatMap(parseParameters({ query: "x", ...fields }), toSearch)
  return Result.match(decoded, {
    onSuccess: ({ options }) => options,
    onFailure: (error) => ("issues" in error ? error.issues.map(({ field }) => field) : error._tag)
  })
}

const request = (fields: Record<string, unknown>) =>
  Result.getOrThrow(Result.flatMap(parseParameters({ query: "x", ...fields }), toSearch))

describe("search options", () => {
  it("R62: are read from a query string, in a canonical form", () => {
    assert.deepStrictEqual(
      decode({
        freshness: "week",
        include_domains: "www.B.org,docs.example.org/Guide,b.org",
        exclude_domains: "münchen.de",
        topic: "news"
      }),
      {
        freshness: "week",
        includeDomains: ["b.org", "docs.example.org/guide"],
        excludeDomains: ["xn--mnchen-3ya.de"],
        topic: "news"
      }
    )
    assert.deepStrictEqual(decode({ after: "2026-01-31", before: "2026-01-31" }), {
      after: "2026-01-31",
      before: "2026-01-31"
    })
  })

  it.each([
    [{ freshness: "hour" }, ["freshness"]],
    [{ freshness: "" }, ["freshness"]],
    [{ after: "2026-02-30" }, ["after"]],
    [{ after: "2026-1-1" }, ["after"]],
    [{ before: "2026-01-01T00:00:00Z" }, ["before"]],
    [{ after: "2026-02-02", before: "2026-02-01" }, ["after"]],
    [{ freshness: "day", after: "2026-02-01" }, ["freshness"]],
    [{ freshness: "day", before: "2026-02-01" }, ["freshness"]],
    [{ include_domains: "" }, ["include_domains"]],
    [{ include_domains: "a.org,,b.org" }, ["include_domains"]],
    [{ exclude_domains: "a.org:80" }, ["exclude_domains"]],
    [{ include_domains: Array.from({ length: 21 }, (_, n) => `a${n}.org`).join(",") }, ["include_domains"]],
    [{ include_domains: "a.org,b.org", exclude_domains: "www.A.org" }, ["exclude_domains"]],
    [{ topic: "sport" }, ["topic"]],
    [{ topic: ["web", "news"] }, ["topic"]],
    // All at once, beside a failure of another field (R6).
    [
      {
        num: "0",
        freshness: "day",
        after: "2026-02-02",
        before: "2026-02-01",
        include_domains: "a.org",
        exclude_domains: "a.org"
      },
      ["num", "freshness", "after", "exclude_domains"]
    ]
  ])("R62: %j is invalid", (fields, issues) => {
    assert.deepStrictEqual(decode(fields), issues)
  })

  it("twenty domains are accepted, and subdomains of an included domain may be excluded", () => {
    const twenty = Array.from({ length: 20 }, (_, n) => `a${n}.org`)
    assert.isArray((decode({ include_domains: twenty.join(",") }) as { includeDomains: unknown }).includeDomains)
    assert.deepStrictEqual(decode({ include_domains: "a.org", exclude_domains: "b.a.org" }), {
      includeDomains: ["a.org"],
      excludeDomains: ["b.a.org"]
    })
  })

  it("a search without them, or with the defaults, is as it was: cache key, idempotency and form", () => {
    const plain = request({})
    assert.isFalse("options" in plain)
    assert.deepStrictEqual(request({ topic: "web" }), plain)
    assert.strictEqual(cacheKey(plain), '["alpha_search","x","us","en-us",1,10,"off"]')
    assert.notInclude(keyedRequest("query", "k", plain).content, "options")
  })

  it("searches that differ in one of them differ in cache key and idempotency", () => {
    const all = [
      {},
      { freshness: "day" },
      { freshness: "week" },
      { after: "2026-01-01" },
      { before: "2026-01-01" },
      { include_domains: "a.org" },
      { exclude_domains: "a.org" },
      { topic: "news" }
    ].map(request)
    assert.strictEqual(new Set(all.map(cacheKey)).size, all.length)
    assert.strictEqual(new Set(all.map((it) => keyedRequest("query", "k", it).content)).size, all.length)
    const [one, other] = [
      request({ include_domains: "a.org,b.org" }),
      request({ include_domains: "B.org,www.a.org,a.org" })
    ]
    assert.strictEqual(cacheKey(one), cacheKey(other))
  })

  it("R62: a batch's rows override its body, dates as a whole", () => {
    const rows = Result.getOrThrow(
      parseBulk({
        queries: [
          "a",
          { query: "b", after: "2026-01-01" },
          { query: "c", include_domains: ["b.org"], topic: "web" },
          { query: "d", exclude_domains: ["a.org"] }
        ],
        freshness: "week",
        include_domains: ["a.org"],
        topic: "news"
      })
    )
    assert.deepStrictEqual(
      rows.map((row) => (Result.isSuccess(row) ? row.success.options : row.failure._tag)),
      [
        { freshness: "week", includeDomains: ["a.org"], topic: "news" },
        { after: "2026-01-01", includeDomains: ["a.org"], topic: "news" },
        { freshness: "week", includeDomains: ["b.org"] },
        "invalid_request"
      ]
    )
  })

  it("a body that contradicts itself is invalid as a whole, and so is a value that should be a list", () => {
    for (const [body, field] of [
      [{ after: "2026-02-02", before: "2026-02-01" }, "after"],
      [{ include_domains: "a.org" }, "include_domains"],
      [{ include_domains: ["a.org", 7] }, "include_domains.1"]
    ] as const) {
      const parsed = parseBulk({ queries: ["a"], ...body })
      assert.deepStrictEqual(Result.isFailure(parsed) && parsed.failure.issues.map((issue) => issue.field), [field])
    }
  })
})

const now = Date.parse("2026-11-24T12:00:00Z")

describe("dates", () => {
  it("freshness counts from now", () => {
    assert.deepStrictEqual(datesOf({ freshness: "day" }, now), { after: "2026-11-23" })
    assert.deepStrictEqual(datesOf({ freshness: "month" }, now), { after: "2026-10-24" })
    assert.deepStrictEqual(datesOf({ after: "2026-01-01" }, now), { after: "2026-01-01" })
  })

  it("both ends are inclusive, and undated results pass where the engine filtered", () => {
    const options = { after: "2026-01-10", before: "2026-01-20" }
    assert.deepStrictEqual(
      ["2026-01-09", "2026-01-10", "2026-01-20T23:59:59Z", "2026-01-21", undefined].map((date) =>
        isInDates(options, date)
      ),
      [false, true, true, false, true]
    )
  })

  it("the index applies every span exactly", () => {
    const isIn = (options: Parameters<typeof spanOf>[0], published: string) => {
      const span = spanOf(options, now)
      return span === undefined || isInSpan(span, published)
    }
    assert.isTrue(isIn({ freshness: "day" }, "2026-11-23T12:00:00Z"))
    assert.isFalse(isIn({ freshness: "day" }, "2026-11-23T11:59:59Z"))
    assert.isTrue(isIn({ freshness: "day" }, "2026-11-23"))
    assert.isFalse(isIn({ freshness: "day" }, "2026-11-22"))
    assert.isFalse(isIn({ freshness: "week" }, "2026-11-25"))
    assert.isTrue(isIn({ topic: "news" }, "2026-10-25"))
    assert.isFalse(isIn({ topic: "news" }, "2026-10-23"))
    assert.isTrue(isIn({ after: "2026-01-01", before: "2026-01-01" }, "2026-01-01T23:59:59Z"))
    assert.isFalse(isIn({ before: "2026-01-01" }, "2026-01-02"))
    assert.isUndefined(spanOf({ includeDomains: ["a.org"] }, now))
  })

  it.each([
    ["2026-11-20", "2026-11-20"],
    ["2026-11-20T10:00:00", "2026-11-20"],
    ["2026-11-20 10:00:00", "2026-11-20"],
    ["2026-11-20T10:00:00Z", "2026-11-20T10:00:00Z"],
    ["2026-11-20T10:00:00.000+0200", "2026-11-20T08:00:00Z"],
    ["Nov 20, 2026", "2026-11-20"],
    ["20 November 2026", "2026-11-20"],
    ["Fri, 20 Nov 2026 10:00:00 GMT", "2026-11-20T10:00:00Z"],
    ["3 days ago", "2026-11-21"],
    ["13 hours ago", "2026-11-23"],
    ["a week ago", "2026-11-17"],
    ["yesterday", "2026-11-23"],
    ["2026-02-30", undefined],
    ["soon", undefined],
    ["", undefined],
    [7, undefined],
    ["9".repeat(100), undefined]
  ])("reads %j as %s", (text, published) => {
    assert.strictEqual(readPublished(text, now), published)
  })
})
