import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import {
  admits,
  type CoolDown,
  closed,
  endProbe,
  isProbe,
  type Policy,
  phase,
  providerPolicy,
  recordRefusal,
  startProbe,
  suspensionPolicy
} from "../../../src/domain/providers/CoolDown.ts"
import { type RefusalReason, refusalReasons } from "../../../src/domain/providers/Refusal.ts"

const dayMs = 86_400_000

const refuse = (
  coolDown: CoolDown,
  reason: RefusalReason,
  now = 0,
  retryAfterMs?: number,
  policy: Policy = providerPolicy
) => recordRefusal(coolDown, policy, { reason, retryAfterMs }, now)

const times = (count: number, reason: RefusalReason) =>
  Array.from({ length: count }).reduce((coolDown: CoolDown) => refuse(coolDown, reason), closed)

describe("the rules of a provider", () => {
  const rules: ReadonlyArray<readonly [RefusalReason, refusals: number, ms: number]> = [
    ["blocked", 3, 30_000],
    ["quota", 1, 300_000],
    ["rate_limited", 1, 1_000],
    ["unauthorized", 1, 300_000],
    ["unreachable", 5, 5_000],
    ["malformed", 5, 5_000],
    ["timeout", 3, 5_000]
  ]
  for (const [reason, refusals, ms] of rules) {
    it(`${reason} opens at refusal ${refusals} in a row, for ${ms / 1000} s`, () => {
      assert.strictEqual(phase(times(refusals - 1, reason), 0), "closed")
      const open = times(refusals, reason)
      assert.deepStrictEqual(
        [phase(open, ms - 1), admits(open, ms - 1), phase(open, ms), admits(open, ms)],
        ["open", false, "half_open", true]
      )
    })
  }

  for (const reason of ["unserved", "busy"] as const) {
    it(`${reason} says nothing about the provider`, () => assert.deepStrictEqual(times(100, reason), closed))
  }

  it("a probe that is refused opens for twice as long, up to an hour", () => {
    let coolDown = times(1, "quota")
    const openings = Array.from({ length: 6 }, () => {
      const now = coolDown.until ?? 0
      coolDown = refuse(endProbe(startProbe(coolDown)), "quota", now)
      return ((coolDown.until ?? 0) - now) / 60_000
    })
    assert.deepStrictEqual(openings, [10, 20, 40, 60, 60, 60])
  })

  it("the provider's own time to come back counts, up to a day", () => {
    const retryAfter = (ms: number) => refuse(closed, "rate_limited", 0, ms).until
    assert.deepStrictEqual([retryAfter(77_000), retryAfter(1e12)], [77_000, dayMs])
  })

  it("refusals of attempts that were in flight when it opened do not prolong it", () => {
    const open = refuse(times(1, "rate_limited"), "rate_limited", 500, 60_000)
    assert.strictEqual(phase(open, 1_000), "half_open")
  })
})

describe("the rules of a suspended engine", () => {
  it("each further failure begins the time anew", () => {
    const failed = refuse(closed, "timeout", 0, undefined, suspensionPolicy)
    const again = refuse(failed, "timeout", 100_000, undefined, suspensionPolicy)
    assert.deepStrictEqual([failed.until, again.until], [120_000, 220_000])
  })

  it("a shorter failure does not shorten it", () => {
    const blocked = refuse(closed, "blocked", 0, undefined, suspensionPolicy)
    assert.strictEqual(refuse(blocked, "timeout", 1_000, undefined, suspensionPolicy).until, dayMs)
  })
})

/** Events of a cool-down, each with the time since the one before. */
const event = fc.record({
  afterMs: fc.oneof(fc.nat(2_000), fc.nat(2 * dayMs)),
  kind: fc.oneof(
    fc.record({
      _tag: fc.constant("refused" as const),
      reason: fc.constantFrom(...refusalReasons),
      retryAfterMs: fc.option(fc.nat(2 * dayMs), { nil: undefined })
    }),
    fc.constant({ _tag: "answered" as const }),
    fc.constant({ _tag: "probe" as const }),
    fc.constant({ _tag: "probed" as const })
  )
})

type Event = (typeof event extends fc.Arbitrary<infer E> ? E : never)["kind"]

const step = (coolDown: CoolDown, kind: Event, policy: Policy, now: number): CoolDown => {
  if (kind._tag === "answered") return closed
  if (kind._tag === "refused") return recordRefusal(coolDown, policy, kind, now)
  if (kind._tag === "probed") return endProbe(coolDown)
  return isProbe(coolDown, now) ? startProbe(coolDown) : coolDown
}

/** Runs events from a closed state, and shows each step to `check`. */
const walk = (
  events: ReadonlyArray<{ readonly afterMs: number; readonly kind: Event }>,
  policy: Policy,
  check: (before: CoolDown, kind: Event, after: CoolDown, now: number) => void
): void => {
  let now = 0
  let coolDown = closed
  for (const { afterMs, kind } of events) {
    now += afterMs
    const after = step(coolDown, kind, policy, now)
    check(coolDown, kind, after, now)
    coolDown = after
  }
}

const eachWalk = (check: Parameters<typeof walk>[2]) =>
  fc.assert(
    fc.property(
      fc.array(event, { maxLength: 60 }),
      fc.constantFrom(providerPolicy, suspensionPolicy),
      (events, policy) => walk(events, policy, check)
    )
  )

describe("after any sequence of events", () => {
  it("is never open for longer than a day from the last refusal", () =>
    eachWalk((_, kind, { until }, now) => {
      if (kind._tag === "refused" && until !== undefined) assert.isAtMost(until - now, dayMs)
    }))

  it("admits when its time is over and no probe runs, so nothing is left out for good", () =>
    eachWalk((_, __, after) => {
      if (after.until !== undefined) assert.strictEqual(admits(after, after.until), !after.isProbing)
    }))

  it("admits nothing while it is open, and one probe while it is half-open", () =>
    eachWalk((_, __, after, now) => {
      if (phase(after, now) === "open") assert.isFalse(admits(after, now))
      if (phase(after, now) === "half_open") assert.isFalse(admits(startProbe(after), now))
    }))

  it("a refusal never shortens the time that it is open", () =>
    eachWalk((before, kind, after, now) => {
      if (kind._tag !== "refused" || phase(before, now) !== "open") return
      assert.isAtLeast(after.until ?? 0, before.until ?? 0)
    }))

  it("an answer closes it", () =>
    eachWalk((_, kind, after) => {
      if (kind._tag === "answered") assert.deepStrictEqual(after, closed)
    }))
})
