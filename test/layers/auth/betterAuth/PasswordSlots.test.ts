import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Result } from "effect"
import { TestClock } from "effect/testing"
import { makePasswordSlots } from "../../../../src/layers/auth/betterAuth/PasswordSlots.ts"

/** Hashes that end when the test says so, with the order in which they began. */
const aHasher = Effect.gen(function* () {
  const slots = yield* makePasswordSlots
  const begun: Array<string> = []
  const gates: Array<Deferred.Deferred<void>> = []
  const hash = (client: string) =>
    slots.run(
      client,
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        gates.push(gate)
        begun.push(client)
        yield* Deferred.await(gate)
        return client
      })
    )
  const begin = Effect.fnUntraced(function* (client: string) {
    const fiber = yield* Effect.forkChild(Effect.result(hash(client)))
    yield* Effect.yieldNow
    return fiber
  })
  const settle = Effect.repeat(Effect.yieldNow, { times: 20 })
  return { begin, begun, gates, settle }
})

describe("R66: turns of passwords to be hashed", () => {
  it.effect("two are hashed at once, and clients take turns", () =>
    Effect.gen(function* () {
      const { begin, begun, gates, settle } = yield* aHasher
      for (let n = 0; n < 6; n++) yield* begin("flood")
      yield* begin("person")
      yield* settle
      assert.deepStrictEqual(begun, ["flood", "flood"])
      yield* Deferred.succeed(gates.shift() ?? assert.fail(), undefined)
      yield* Deferred.succeed(gates.shift() ?? assert.fail(), undefined)
      yield* settle
      assert.sameMembers(begun.slice(2), ["flood", "person"])
    })
  )

  it.effect("a password without a turn in ten seconds is refused; a check that has started is not", () =>
    Effect.gen(function* () {
      const { begin, gates, settle } = yield* aHasher
      const running = [yield* begin("one"), yield* begin("two")]
      const waiting = yield* begin("three")
      yield* settle
      yield* TestClock.adjust("10 seconds")
      const late = yield* Fiber.join(waiting)
      assert.isTrue(Result.isFailure(late))
      if (Result.isFailure(late)) assert.strictEqual(late.failure.retryAfterSeconds, 10)
      for (const gate of gates) yield* Deferred.succeed(gate, undefined)
      for (const fiber of running) assert.isTrue(Result.isSuccess(yield* Fiber.join(fiber)))
      const next = yield* begin("three")
      yield* settle
      yield* Deferred.succeed(gates.at(-1) ?? assert.fail(), undefined)
      assert.isTrue(Result.isSuccess(yield* Fiber.join(next)))
    })
  )

  it.effect("as many wait as may, and what is beyond them is refused at once", () =>
    Effect.gen(function* () {
      const { begin, begun, gates, settle } = yield* aHasher
      const fibers = yield* Effect.forEach(Array.from({ length: 202 }), (_, n) => begin(`client ${n}`))
      yield* settle
      const beyond = yield* Fiber.join(yield* begin("one too many"))
      assert.isTrue(Result.isFailure(beyond))
      while (begun.length < 202 || gates.length > 0) {
        yield* Deferred.succeed(gates.shift() ?? assert.fail("a turn was lost"), undefined)
        yield* settle
      }
      for (const fiber of fibers) assert.isTrue(Result.isSuccess(yield* Fiber.join(fiber)))
    })
  )
})
