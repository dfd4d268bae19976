import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { dateTerms, spanTerms } from "../../../src/domain/index/dates.ts"
import { isInSpan } from "../../../src/domain/options/SearchOptions.ts"

const dayMs = 86_400_000
const first = Date.UTC(1970, 0)
const last = Date.UTC(2199, 11, 31)
const day = fc.integer({ min: 0, max: (last - first) / dayMs }).map((n) => n * dayMs)
const date = (ms: number) => new Date(ms).toISOString().slice(0, 10)

describe("terms of dates", () => {
  it("a document has a term of a span exactly if its day is in it, and only one", () => {
    const days = fc.tuple(day, day, day)
    const close = fc
      .tuple(day, fc.integer({ min: -40, max: 40 }), fc.integer({ min: 0, max: 800 }))
      .map(
        ([from, offset, length]) =>
          [from, Math.min(last, from + length * dayMs), Math.min(last, Math.max(0, from + offset * dayMs))] as const
      )
    fc.assert(
      fc.property(fc.oneof(days, close), ([a, b, at]) => {
        const span = { fromMs: Math.min(a, b), toMs: Math.max(a, b) }
        const terms = new Set(spanTerms(span))
        const shared = dateTerms(date(at)).filter((term) => terms.has(term))
        assert.strictEqual(shared.length, isInSpan(span, date(at)) ? 1 : 0)
      })
    )
  })

  it("whole years and months are one term each, and no span has many", () => {
    const span = (from: string, to: string) => spanTerms({ fromMs: Date.parse(from), toMs: Date.parse(to) })
    assert.deepStrictEqual(span("2023-12-31", "2025-02-28"), ["#2023-12-31", "#2024", "#2025-01", "#2025-02"])
    assert.deepStrictEqual(span("2024-02-01", "2024-02-29"), ["#2024-02"])
    assert.isBelow(spanTerms({ fromMs: Date.parse("2000-01-02"), toMs: Number.MAX_SAFE_INTEGER }).length, 300)
  })
})
