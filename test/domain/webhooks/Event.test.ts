import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import {
  defaultEventSettings,
  maxFailingMs,
  maxRetryAfterMs,
  shownError,
  unreachableError,
  waitAfter
} from "../../../src/domain/webhooks/Event.ts"

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** The contract's waits, in their order. */
const promised = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour
] as const

const maxAttempts = promised.length + 1

/** Past the last attempt too. */
const attempts = fc.integer({ min: 1, max: maxAttempts + 5 })
const random = fc.double({ min: 0, max: 1, noNaN: true })
const retryAfter = fc.nat(7 * 24 * hour)

describe("waitAfter", () => {
  it("R53: waits as the contract says, a tenth more or less, and ends after the last attempt", () => {
    fc.assert(
      fc.property(attempts, random, (made, chance) => {
        const wait = waitAfter(made, chance)
        const expected = promised[made - 1]
        if (expected === undefined) return assert.isUndefined(wait)
        assert.isTrue(Number.isInteger(wait))
        assert.isAtLeast(wait ?? 0, Math.floor(expected * 0.9))
        assert.isAtMost(wait ?? 0, Math.ceil(expected * 1.1))
      })
    )
  })

  it("R53: waits never less than Retry-After, up to a day, and never more than it or the usual wait", () => {
    fc.assert(
      fc.property(attempts, random, retryAfter, (made, chance, asked) => {
        const wait = waitAfter(made, chance, asked)
        const usual = waitAfter(made, chance)
        if (usual === undefined) return assert.isUndefined(wait)
        assert.strictEqual(wait, Math.max(usual, Math.min(asked, maxRetryAfterMs)))
      })
    )
  })

  it("R53: all attempts are over before an endpoint is disabled for failing", () => {
    fc.assert(
      fc.property(fc.array(random, { minLength: promised.length, maxLength: promised.length }), (chances) => {
        const waits = chances.map((chance, index) => waitAfter(index + 1, chance) ?? 0)
        assert.isBelow(
          waits.reduce((sum, wait) => sum + wait, 0),
          maxFailingMs
        )
      })
    )
  })
})

describe("what an account sees of its events", () => {
  it("R53: an unreachable endpoint without the reason, and any other error as it is", () => {
    assert.strictEqual(shownError(unreachableError("ECONNREFUSED 10.0.0.7:443")), "the endpoint could not be reached")
    assert.strictEqual(shownError("the endpoint responded with 500"), "the endpoint responded with 500")
  })

  it("R53: waits that vary by a tenth in both directions", () => {
    assert.deepStrictEqual([waitAfter(1, 0), waitAfter(1, 0.5), waitAfter(1, 1)], [4_500, 5_000, 5_500])
  })

  it("R53: credits are low at 80 and 95 percent unless it chose others", () => {
    assert.deepStrictEqual(defaultEventSettings.lowPercents, [80, 95])
  })
})
