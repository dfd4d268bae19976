import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as PacerMemory from "../../../src/layers/memory/PacerMemory.ts"
import * as Gate from "../../../src/layers/providers/Gate.ts"
import { Pacer } from "../../../src/services/providers/Pacer.ts"
import { unsharedTurn } from "../../../src/services/providers/Turn.ts"
import { advance } from "../../support/Time.ts"

describe("Gate", () => {
  it.effect("keeps the calls in flight within their bound; the rest wait, or are busy after their time", () =>
    Effect.gen(function* () {
      const gate = yield* Gate.make("it", { concurrency: 2 })
      let inFlight = 0
      let most = 0
      const call = Effect.gen(function* () {
        most = Math.max(most, ++inFlight)
        yield* Effect.sleep(400)
        inFlight--
      })
      const fibers = yield* Effect.forEach(Array(8), () =>
        Effect.forkChild(
          Effect.match(gate.run(call, unsharedTurn(1_000)), {
            onSuccess: () => "answered",
            onFailure: ({ reason }) => reason
          })
        )
      )
      yield* advance("5 seconds")
      const outcomes = yield* Effect.forEach(fibers, Fiber.join)
      assert.strictEqual(most, 2)
      // A second holds the calls of three rounds; the fourth would have begun after it.
      assert.deepStrictEqual(outcomes, [...Array(6).fill("answered"), "busy", "busy"])
    }).pipe(Effect.provide(PacerMemory.layer))
  )

  it.effect("a call that is interrupted or fails makes room", () =>
    Effect.gen(function* () {
      const gate = yield* Gate.make("it", { concurrency: 1 })
      const fiber = yield* Effect.forkChild(gate.run(Effect.never, unsharedTurn(1_000)))
      yield* advance(0)
      yield* Fiber.interrupt(fiber)
      yield* Effect.ignore(gate.run(Effect.fail("no"), unsharedTurn(1_000)))
      assert.strictEqual(yield* gate.run(Effect.succeed("through"), unsharedTurn(1_000)), "through")
    }).pipe(Effect.provide(PacerMemory.layer))
  )

  it.effect("sends calls at their pace, and none that would wait too long", () =>
    Effect.gen(function* () {
      const gate = yield* Gate.make("it", { requestsPerSecond: 5 })
      const fibers = yield* Effect.forEach(Array(8), () =>
        Effect.forkChild(
          Effect.match(gate.run(Clock.currentTimeMillis, unsharedTurn(1_000)), {
            onSuccess: (at) => at,
            onFailure: ({ reason }) => reason
          })
        )
      )
      for (let step = 0; step < 40; step++) yield* advance(50)
      const outcomes = yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(outcomes, [0, 250, 500, 750, 1_000, "busy", "busy", "busy"])
    }).pipe(Effect.provide(PacerMemory.layer))
  )

  it.effect("a call that missed its turn takes another", () =>
    Effect.gen(function* () {
      const turns = [100, 0]
      const taken: Array<number> = []
      const pacer = Layer.mock(Pacer, {
        take: () =>
          Effect.gen(function* () {
            const waitMs = turns.shift()
            taken.push(yield* Clock.currentTimeMillis)
            // The answer itself takes 160 ms the first time.
            if (waitMs === 100) yield* Effect.sleep(160)
            return waitMs
          })
      })
      const gate = yield* Effect.provide(Gate.make("it", { requestsPerSecond: 5 }), pacer)
      const fiber = yield* Effect.forkChild(gate.run(Clock.currentTimeMillis, unsharedTurn(1_000)))
      yield* TestClock.adjust(160)
      yield* advance(100)
      assert.strictEqual(yield* Fiber.join(fiber), 260)
      assert.deepStrictEqual(taken, [0, 260])
    })
  )
})
