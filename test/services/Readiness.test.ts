import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Readiness } from "../../src/services/Readiness.ts"

describe("Readiness", () => {
  it.effect("is there while the listener serves, and neither before nor after", () =>
    Effect.gen(function* () {
      const readiness = yield* Readiness
      assert.deepStrictEqual(yield* readiness.report, { ready: false, listener: "starting", checks: {} })
      yield* readiness.setListener("serving")
      assert.isTrue((yield* readiness.report).ready)
      yield* readiness.setListener("draining")
      assert.deepStrictEqual(yield* readiness.report, { ready: false, listener: "draining", checks: {} })
    }).pipe(Effect.provide(Readiness.layer))
  )

  it.effect("names the check that failed", () =>
    Effect.gen(function* () {
      const readiness = yield* Readiness
      yield* readiness.setListener("serving")
      yield* readiness.add("database", Effect.fail("gone"))
      yield* readiness.add("store", Effect.die("broken"))
      yield* readiness.add("index", Effect.void)
      assert.deepStrictEqual(yield* readiness.report, {
        ready: false,
        listener: "serving",
        checks: { database: "failed", store: "failed", index: "ok" }
      })
    }).pipe(Effect.provide(Readiness.layer))
  )

  it.effect("gives up on a check after a second", () =>
    Effect.gen(function* () {
      const readiness = yield* Readiness
      yield* readiness.setListener("serving")
      yield* readiness.add("database", Effect.never)
      const report = yield* Effect.forkChild(readiness.report)
      yield* TestClock.adjust("999 millis")
      assert.isUndefined(report.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.deepInclude(yield* Fiber.join(report), { ready: false, checks: { database: "timeout" } })
    }).pipe(Effect.provide(Readiness.layer))
  )

  it.effect("does not wait for a check that is slow to stop", () =>
    Effect.gen(function* () {
      const readiness = yield* Readiness
      const stopping = yield* Deferred.make<void>()
      yield* readiness.add(
        "database",
        Effect.onInterrupt(Effect.never, () =>
          Effect.andThen(Deferred.succeed(stopping, undefined), Effect.sleep("1 hour"))
        )
      )
      const report = yield* Effect.forkChild(readiness.report)
      yield* TestClock.adjust("1 second")
      assert.deepInclude(yield* Fiber.join(report), { checks: { database: "timeout" } })
      yield* Deferred.await(stopping)
    }).pipe(Effect.provide(Readiness.layer))
  )

  it.effect("asks a check no more when the layer that added it is closed", () =>
    Effect.gen(function* () {
      const readiness = yield* Readiness
      yield* readiness.setListener("serving")
      const scope = yield* Scope.make()
      yield* Scope.provide(readiness.add("database", Effect.fail("gone")), scope)
      yield* Scope.close(scope, Exit.void)
      assert.isTrue((yield* readiness.report).ready)
    }).pipe(Effect.provide(Readiness.layer))
  )
})
