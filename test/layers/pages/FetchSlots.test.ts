import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { FetchSlots } from "../../../src/layers/pages/FetchSlots.ts"

const yieldToOthers = Effect.forEach(Array.from({ length: 20 }), () => Effect.yieldNow, { discard: true })

describe("FetchSlots", () => {
  it.effect("R60: an account whose sites are slow does not keep another from its next slot", () =>
    Effect.gen(function* () {
      const slots = new FetchSlots("full")
      const ended: Array<string> = []
      const slow = Effect.forEach(
        Array.from({ length: 200 }),
        () =>
          slots.inSlot("slow")(
            Effect.delay(
              Effect.sync(() => ended.push("slow")),
              "15 seconds"
            )
          ),
        { concurrency: "unbounded", discard: true }
      )
      yield* Effect.forkChild(slow)
      yield* yieldToOthers
      yield* Effect.forkChild(slots.inSlot("quick")(Effect.sync(() => ended.push("quick"))))
      yield* yieldToOthers
      assert.deepStrictEqual(ended, [])
      yield* TestClock.adjust("15 seconds")
      assert.lengthOf(ended, 65)
      assert.include(ended, "quick")
    })
  )

  it.effect("R60: who leaves while it waits or runs leaves its slot to others", () =>
    Effect.gen(function* () {
      const slots = new FetchSlots("full")
      const fibers = yield* Effect.forEach(Array.from({ length: 130 }), () =>
        Effect.forkChild(slots.inSlot("a")(Effect.never))
      )
      yield* yieldToOthers
      yield* Fiber.interruptAll(fibers)
      const results = yield* Effect.forEach(Array.from({ length: 64 }), () => slots.inSlot("b")(Effect.succeed(1)), {
        concurrency: "unbounded"
      })
      assert.lengthOf(results, 64)
    })
  )

  it.effect("R60: beyond the room to wait, the account with most pages waiting loses one", () =>
    Effect.gen(function* () {
      const slots = new FetchSlots("full")
      const fibers = yield* Effect.forEach(Array.from({ length: 1_064 }), () =>
        Effect.forkChild(slots.inSlot("a")(Effect.never))
      )
      yield* yieldToOthers
      const other = yield* Effect.forkChild(slots.inSlot("b")(Effect.succeed("b")))
      yield* yieldToOthers
      assert.strictEqual(fibers.filter((fiber) => fiber.pollUnsafe() !== undefined).length, 1)
      assert.isUndefined(other.pollUnsafe())
    })
  )
})
