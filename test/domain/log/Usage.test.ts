import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { fillBuckets, total, toUsageQuery, UsageParameters } from "../../../src/domain/log/Usage.ts"
import { decoder } from "../../../src/domain/requests/fields.ts"

const day = 86_400_000
const now = Date.parse("2026-03-10T12:00:00Z")
const defaults = { from: Date.parse("2026-03-01T00:00:00Z"), to: now }

const decode = decoder(UsageParameters)
const read = (raw: Record<string, unknown>) =>
  Result.flatMap(decode(raw), (parameters) => toUsageQuery(parameters, defaults))

const issuesOf = (raw: Record<string, unknown>) =>
  Result.match(read(raw), {
    onSuccess: () => [],
    onFailure: ({ issues }) => issues.map(({ field }) => field)
  })

describe("GET /v1/usage", () => {
  it("is the running period by the day where nothing else is asked for", () => {
    assert.deepStrictEqual(Result.getOrThrow(read({})), {
      ...defaults,
      granularity: "day",
      groupBy: undefined
    })
  })

  it("R6: names every field that is wrong", () => {
    assert.deepStrictEqual(issuesOf({ from: "x", to: "x", granularity: "week", group_by: "geo" }), [
      "from",
      "to",
      "granularity",
      "group_by"
    ])
    assert.deepStrictEqual(issuesOf({ from: "2026-03-02", to: "2026-03-02" }), ["from"])
  })

  it("covers at most 1000 hours, days or months", () => {
    const from = (days: number) => new Date(now - days * day).toISOString()
    assert.deepStrictEqual(issuesOf({ from: from(41), granularity: "hour" }), [])
    assert.deepStrictEqual(issuesOf({ from: from(42), granularity: "hour" }), ["from"])
    assert.deepStrictEqual(issuesOf({ from: from(1000) }), [])
    assert.deepStrictEqual(issuesOf({ from: from(1001) }), ["from"])
    assert.deepStrictEqual(issuesOf({ from: "1970-01-01", granularity: "month" }), [])
  })

  it("an end before the period's begin still has something before it", () => {
    const { from, to } = Result.getOrThrow(read({ to: "2026-02-01" }))
    assert.strictEqual(to - from, 3_600_000)
  })

  it("totals are the sums", () => {
    const one = {
      searches: 2,
      credits: 1,
      outcomes: { ok: 1, upstream_error: 1, upstream_timeout: 0, page_unreadable: 0 }
    }
    assert.deepStrictEqual(total([one, one]), {
      searches: 4,
      credits: 2,
      outcomes: { ok: 2, upstream_error: 2, upstream_timeout: 0, page_unreadable: 0 }
    })
    assert.strictEqual(total([]).searches, 0)
  })

  it("has one bucket for each day, hour or month between from and to, idle ones included", () => {
    const bucket = (start: string, group: string | undefined, searches: number) => ({
      ...total([]),
      start: Date.parse(start),
      group,
      searches
    })
    const range = { from: Date.parse("2026-02-27T08:00:00Z"), to: Date.parse("2026-03-02T01:00:00Z") }
    const used = [bucket("2026-03-01", "a", 2), bucket("2026-03-01", "b", 1)]
    assert.deepStrictEqual(fillBuckets({ ...range, granularity: "day" }, used), [
      bucket("2026-02-27", undefined, 0),
      bucket("2026-02-28", undefined, 0),
      ...used,
      bucket("2026-03-02", undefined, 0)
    ])
    assert.deepStrictEqual(
      fillBuckets({ ...range, granularity: "month" }, []).map(({ start }) => new Date(start).toISOString()),
      ["2026-02-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z"]
    )
    assert.lengthOf(fillBuckets({ ...range, granularity: "hour" }, []), 65)
  })
})
