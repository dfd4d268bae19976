import { assert, describe, it } from "@effect/vitest"
import { csvOf } from "../../../src/dashboard/credits/csv.ts"
import {
  byKind,
  drawnGroups,
  groupsOf,
  lastMoment,
  parametersOf,
  searchesIn,
  stretches,
  viewOf
} from "../../../src/dashboard/credits/usageFigures.ts"

const now = Date.UTC(2026, 2, 14, 9, 26)

const view = (query: string) => viewOf(new URLSearchParams(query), now)

const row = (start: string, group: string | null, searches: number) => ({
  start,
  group,
  searches,
  credits: searches,
  outcomes: { ok: searches, upstream_error: 0, upstream_timeout: 0, page_unreadable: 0 }
})

describe("the usage page's address", () => {
  it("asks for the API's own stretch where it says nothing", () => {
    assert.deepStrictEqual(parametersOf(view(""), now), {
      granularity: "day",
      group_by: undefined,
      from: undefined,
      to: undefined
    })
  })

  it("has presets that begin with an hour, a day or a month in UTC", () => {
    const from = (range: string) => parametersOf(view(`range=${range}`), now).from
    assert.strictEqual(from("24h"), "2026-03-13T10:00:00.000Z")
    assert.strictEqual(from("7d"), "2026-03-08T00:00:00.000Z")
    assert.strictEqual(from("90d"), "2025-12-15T00:00:00.000Z")
    assert.strictEqual(from("12m"), "2025-04-01T00:00:00.000Z")
  })

  it("takes moments of an own range as UTC, and leaves to the API what is none", () => {
    const own = parametersOf(view("from=2026-01-31T00:00&to=soon"), now)
    assert.strictEqual(own.from, "2026-01-31T00:00:00Z")
    assert.strictEqual(own.to, "soon")
  })

  it("asks for no hours of a stretch that the API refuses by the hour", () => {
    assert.strictEqual(view("range=12m&granularity=hour").granularity, "month")
    assert.strictEqual(view("range=30d&granularity=hour").granularity, "hour")
  })
})

describe("the end of a range", () => {
  it("at midnight is on the day before", () => {
    assert.strictEqual(lastMoment({ to: "2026-03-15T00:00:00.000Z" }), "2026-03-14T23:59:59.999Z")
  })
})

describe("usage by kind", () => {
  it("is usage by target, with searches of all targets together", () => {
    assert.strictEqual(parametersOf(view("group_by=kind"), now).group_by, "target")
    const [january, february] = ["2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z"]
    const series = [
      row(january, null, 0),
      row(february, "alpha_search", 3),
      row(february, "beta_search", 1),
      row(february, "page", 2)
    ]
    assert.deepStrictEqual(byKind(series), [
      row(january, null, 0),
      row(february, "search", 4),
      row(february, "page", 2)
    ])
  })
})

describe("the usage page's bars", () => {
  it("are there for stretches without a search too, which have no group", () => {
    const series = [
      row("2026-01-01T00:00:00.000Z", null, 0),
      row("2026-02-01T00:00:00.000Z", "a", 3),
      row("2026-02-01T00:00:00.000Z", "b", 1),
      row("2026-03-01T00:00:00.000Z", null, 0)
    ]
    assert.deepStrictEqual(
      groupsOf(series).map(({ id }) => id),
      ["a", "b"]
    )
    const begins = stretches({ series })
    assert.deepStrictEqual(begins, [Date.UTC(2026, 0), Date.UTC(2026, 1), Date.UTC(2026, 2)])
    assert.deepStrictEqual(searchesIn([row("2026-02-01T00:00:00.000Z", null, 3)], begins), [0, 3, 0])
  })

  it("show the largest groups each by itself, and lose no search of the others", () => {
    const series = Array.from({ length: 12 }, (_, index) => row("2026-02-01T00:00:00.000Z", `g${index}`, index))
    const { drawn, others } = drawnGroups(groupsOf(series))
    assert.deepStrictEqual(
      drawn.map(({ id }) => id),
      ["g11", "g10", "g9", "g8", "g7", "g6", "g5"]
    )
    assert.strictEqual(others?.searches, 4 + 3 + 2 + 1)
  })
})

describe("a table as CSV", () => {
  it("follows RFC 4180", () => {
    assert.strictEqual(
      csvOf([
        ["a", 1],
        ['say "hi", they', "two\nlines"]
      ]),
      'a,1\r\n"say ""hi"", they","two\nlines"\r\n'
    )
  })

  it("has no text that a spreadsheet runs as a formula", () => {
    assert.strictEqual(csvOf([["=1+1", "+1", "-1", "@A1", "\t=1", -1]]), "'=1+1,'+1,'-1,'@A1,'\t=1,-1\r\n")
    assert.strictEqual(csvOf([['=HYPERLINK("x")']]), `"'=HYPERLINK(""x"")"\r\n`)
  })
})
