import { assert, describe, it } from "@effect/vitest"
import { Breaker, coolDownMs } from "../../src/services/Breaker.ts"
import { Refusal, type RefusalReason } from "../../src/services/Provider.ts"

const refusal = (reason: RefusalReason, retryAfterMs?: number) => new Refusal({ reason, message: "no", retryAfterMs })

/** Refuses `times` times at the time 0. */
const refusing = (reason: RefusalReason, times: number, retryAfterMs?: number) => {
  const breaker = new Breaker()
  for (let time = 0; time < times; time++) breaker.refused(refusal(reason, retryAfterMs), 0)
  return breaker
}

describe("Breaker", () => {
  const opening: ReadonlyArray<readonly [RefusalReason, refusals: number, forMs: number]> = [
    ["blocked", 3, 30_000],
    ["quota", 1, 300_000],
    ["rate_limited", 1, 1_000],
    ["unauthorized", 1, 300_000],
    ["unreachable", 5, 5_000],
    ["malformed", 5, 5_000],
    ["timeout", 3, 5_000]
  ]
  for (const [reason, refusals, forMs] of opening) {
    it(`${reason} opens it at the ${refusals}. time in a row, for ${forMs / 1000} s`, () => {
      assert.strictEqual(refusing(reason, refusals - 1).state(0), "closed")
      const breaker = refusing(reason, refusals)
      assert.deepStrictEqual(
        [breaker.state(forMs - 1), breaker.admits(forMs - 1), breaker.state(forMs), breaker.admits(forMs)],
        ["open", false, "half_open", true]
      )
    })
  }

  for (const reason of ["unserved", "busy"] as const) {
    it(`${reason} says nothing about the provider`, () => assert.strictEqual(refusing(reason, 100).state(0), "closed"))
  }

  it("an answer in between starts the count anew", () => {
    const breaker = refusing("unreachable", 4)
    breaker.succeeded()
    for (let time = 0; time < 4; time++) breaker.refused(refusal("unreachable"), 0)
    assert.strictEqual(breaker.state(0), "closed")
  })

  it("the provider's own time to come back is kept", () => {
    const breaker = refusing("rate_limited", 1, 77_000)
    assert.deepStrictEqual([breaker.state(76_999), breaker.state(77_000)], ["open", "half_open"])
  })

  it("a time beyond a day is taken for a mistake", () => {
    assert.strictEqual(coolDownMs(refusal("quota", 1e12), 0), 86_400_000)
  })

  it("one search probes it at a time; its answer closes it", () => {
    const breaker = refusing("quota", 1)
    breaker.begin(300_000)
    assert.isFalse(breaker.admits(300_000))
    breaker.succeeded()
    assert.strictEqual(breaker.state(300_000), "closed")
  })

  it("a probe that is refused opens it for twice as long, up to an hour", () => {
    const breaker = refusing("quota", 1)
    let now = 0
    const openFor = Array.from({ length: 6 }, () => {
      now = breaker.until ?? 0
      breaker.begin(now)()
      return (breaker.refused(refusal("quota"), now) ?? 0) / 60_000
    })
    assert.deepStrictEqual(openFor, [10, 20, 40, 60, 60, 60])
  })

  it("a probe that was interrupted lets the next one through", () => {
    const breaker = refusing("quota", 1)
    const forget = breaker.begin(300_000)
    forget()
    assert.isTrue(breaker.admits(300_000))
  })

  it("refusals of searches that were in flight when it opened do not prolong it", () => {
    const breaker = refusing("rate_limited", 1)
    breaker.refused(refusal("rate_limited", 60_000), 500)
    assert.strictEqual(breaker.state(1_000), "half_open")
  })
})
