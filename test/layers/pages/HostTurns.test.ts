import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { HostTurns, maxConcurrent, maxStarts } from "../../../src/layers/pages/HostTurns.ts"
import { FairSlots } from "../../../src/services/fairness/FairSlots.ts"

const make = () => {
  const turns = new HostTurns()
  const slots = new FairSlots({ slots: 1_000, waiting: { items: 1_000, bytes: 0 }, full: "full" })
  return { turns, inTurn: (host: string) => slots.inSlot("a", turns.gateOf(host)) }
}

const yieldToOthers = Effect.forEach(Array.from({ length: 20 }), () => Effect.yieldNow, { discard: true })

describe("HostTurns", () => {
  it.effect("R60: any second has at most ten starts, and a host waits for no other", () =>
    Effect.gen(function* () {
      const turns = make()
      const starts: Record<string, Array<number>> = { a: [], b: [] }
      const request = (host: string) =>
        turns.inTurn(host)(Effect.map(Clock.currentTimeMillis, (now) => starts[host]?.push(now)))
      yield* Effect.forEach(["a", "b"], (host) =>
        Effect.forEach(Array.from({ length: 35 }), () => Effect.forkChild(request(host)))
      )
      for (let step = 0; step < 50; step++) {
        yield* yieldToOthers
        yield* TestClock.adjust("100 millis")
      }
      for (const all of Object.values(starts)) {
        assert.lengthOf(all, 35)
        assert.strictEqual(all[maxStarts - 1], 0)
        for (const [index, at] of all.slice(maxStarts).entries()) assert.isAtLeast(at - (all[index] ?? 0), 1_000)
      }
    })
  )

  it.effect("R60: at most four run at once, and who leaves lets the next one run", () =>
    Effect.gen(function* () {
      const turns = make()
      let running = 0
      const request = turns.inTurn("a")(
        Effect.andThen(
          Effect.sync(() => running++),
          Effect.never
        )
      )
      const fibers = yield* Effect.forEach(Array.from({ length: 6 }), () => Effect.forkChild(request))
      yield* yieldToOthers
      assert.strictEqual(running, maxConcurrent)
      const [first] = fibers
      if (first !== undefined) yield* Fiber.interrupt(first)
      yield* yieldToOthers
      assert.strictEqual(running, maxConcurrent + 1)
    })
  )

  it.effect("R60: hosts that nobody asks for are forgotten after a second", () =>
    Effect.gen(function* () {
      const { inTurn, turns } = make()
      for (let index = 0; index < 100; index++) yield* inTurn(`host${index}`)(Effect.void)
      assert.strictEqual(turns.size, 100)
      yield* TestClock.adjust("1 second")
      yield* inTurn("another")(Effect.void)
      assert.strictEqual(turns.size, 1)
    })
  )
})
