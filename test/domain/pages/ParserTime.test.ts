import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { OversizedPages } from "../../../src/domain/pages/OversizedPages.ts"
import { ParserTime } from "../../../src/domain/pages/ParserTime.ts"

const limitMs = 10_000

describe("R83: uncharged parser time", () => {
  it("is limited in any minute, and the wait ends exactly when the account may continue", () => {
    const step = fc.record({ afterMs: fc.integer({ min: 0, max: 20_000 }), ms: fc.integer({ min: 0, max: 6_000 }) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const time = new ParserTime(limitMs)
        let now = 0
        for (const { afterMs, ms } of steps) {
          now += afterMs
          const waitMs = time.retryAfterMs("a", now)
          if (waitMs > 0) {
            assert.isAtMost(waitMs, 60_000)
            assert.isAbove(time.retryAfterMs("a", now + waitMs - 1), 0)
            assert.strictEqual(time.retryAfterMs("a", now + waitMs), 0)
          }
          time.spend("a", ms, now)
          assert.strictEqual(time.retryAfterMs("b", now), 0)
        }
      })
    )
  })

  it("of accounts that stopped is forgotten after a minute", () => {
    const time = new ParserTime(limitMs)
    for (let account = 0; account < 1_000; account++) time.spend(`${account}`, 1, 0)
    time.spend("last", 1, 60_000)
    assert.strictEqual(time.accounts, 1)
  })
})

describe("R83: pages over the parser's limits", () => {
  it("are remembered for ten minutes, and at most 10,000 of them", () => {
    const pages = new OversizedPages()
    pages.add("https://example.org/a", 200, 0)
    assert.strictEqual(pages.statusOf("https://example.org/a", 599_999), 200)
    assert.isUndefined(pages.statusOf("https://example.org/a", 600_000))
    for (let page = 0; page < 10_001; page++) pages.add(`https://example.org/${page}`, 200, 1)
    assert.isUndefined(pages.statusOf("https://example.org/0", 1))
    assert.strictEqual(pages.statusOf("https://example.org/1", 1), 200)
  })
})
