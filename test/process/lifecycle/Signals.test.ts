import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeReactions } from "../../../src/process/lifecycle/Signals.ts"

describe("signals", () => {
  it.effect("R54: the same signal within 2 seconds of the first counts once", () =>
    Effect.gen(function* () {
      const { firstSignal, reactTo } = yield* makeReactions
      assert.isUndefined(firstSignal())
      assert.strictEqual(reactTo("SIGTERM"), "begin shutdown")
      for (const pause of ["0 millis", "1 second", "999 millis"] as const) {
        yield* TestClock.adjust(pause)
        assert.strictEqual(reactTo("SIGTERM"), "ignore")
      }
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(reactTo("SIGTERM"), "end at once")
      assert.strictEqual(firstSignal(), "SIGTERM")
    })
  )

  it.effect("R54: another signal than the first is a second one at any time", () =>
    Effect.gen(function* () {
      const { firstSignal, reactTo } = yield* makeReactions
      assert.strictEqual(reactTo("SIGINT"), "begin shutdown")
      assert.strictEqual(reactTo("SIGTERM"), "end at once")
      assert.strictEqual(firstSignal(), "SIGINT")
    })
  )
})
