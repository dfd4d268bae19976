import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Deadlines } from "../../../src/services/waiting/Deadlines.ts"
import { advance } from "../../support/Time.ts"

const late = () => Effect.succeed("late")

describe("Deadlines", () => {
  it.effect("each expires at its own time, in any order of creation", () =>
    Effect.gen(function* () {
      const deadlines = yield* Deadlines.make
      const passed: Array<number> = []
      const told = () => passed.join(" ")
      const callOff = [300, 100, 200, 400].map((ms) => deadlines.callAt(deadlines.after(ms), () => passed.push(ms)))
      callOff[2]?.()
      for (const [ms, sofar] of [
        [99, ""],
        [1, "100"],
        [100, "100"],
        [100, "100 300"]
      ] as const) {
        yield* TestClock.adjust(ms)
        assert.strictEqual(told(), sofar)
      }
      // One that is set while another waits for its time, and one for which there is none.
      deadlines.callAt(deadlines.after(50), () => passed.push(50))
      deadlines.callAt(deadlines.after(0), () => passed.push(0))
      assert.strictEqual(told(), "100 300 0")
      yield* TestClock.adjust(100)
      assert.strictEqual(told(), "100 300 0 50 400")
    })
  )

  it.effect("nothing passes once the scope has closed", () =>
    Effect.gen(function* () {
      let passed = false
      yield* Effect.scoped(
        Effect.map(Deadlines.make, (deadlines) =>
          deadlines.callAt(deadlines.after(100), () => {
            passed = true
          })
        )
      )
      yield* TestClock.adjust(100)
      assert.isFalse(passed)
    })
  )

  it.effect("within: answers what the effect answers, fails or dies as", () =>
    Effect.gen(function* () {
      const deadlines = yield* Deadlines.make
      const end = (effect: Effect.Effect<string, string>) =>
        Effect.exit(deadlines.until(effect, deadlines.after(100), late))
      assert.deepStrictEqual(yield* end(Effect.succeed("now")), Exit.succeed("now"))
      assert.deepStrictEqual(yield* end(Effect.fail("no")), Exit.fail("no"))
      assert.deepStrictEqual(yield* end(Effect.die("a bug")), Exit.die("a bug"))
      const slow = yield* Effect.forkChild(end(Effect.delay(Effect.succeed("in time"), 99)))
      yield* advance(99)
      assert.deepStrictEqual(yield* Fiber.join(slow), Exit.succeed("in time"))
    })
  )

  it.effect("within: interrupts what is late, and waits for no end of it", () =>
    Effect.gen(function* () {
      const deadlines = yield* Deadlines.make
      const release = yield* Deferred.make<void>()
      let interrupted = false
      const stubborn = Effect.never.pipe(
        Effect.onInterrupt(() =>
          Effect.andThen(
            Deferred.await(release),
            Effect.sync(() => (interrupted = true))
          )
        )
      )
      const fiber = yield* Effect.forkChild(deadlines.until(stubborn, deadlines.after(100), late))
      yield* advance(100)
      assert.strictEqual(yield* Fiber.join(fiber), "late")
      assert.isFalse(interrupted)
      yield* Deferred.succeed(release, undefined)
      yield* advance(0)
      assert.isTrue(interrupted)
    })
  )

  it.effect("within: its interruption is the effect's", () =>
    Effect.gen(function* () {
      const deadlines = yield* Deadlines.make
      let interrupted = false
      const effect = Effect.onInterrupt(Effect.never, () => Effect.sync(() => (interrupted = true)))
      const fiber = yield* Effect.forkChild(deadlines.until(effect, deadlines.after(100), late))
      yield* advance(99)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(interrupted)
    })
  )
})
