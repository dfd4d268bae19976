import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Readiness } from "../../../src/services/operations/Readiness.ts"

/** After this a check runs again when somebody asks. */
const aNewResult = TestClock.adjust("6 seconds")

const makeLog = () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => {
    lines.push(`${logLevel} ${message}`)
  })
  return { lines, logger }
}

describe("Readiness", () => {
  it.effect("is there while the listener serves, and neither before nor after", () =>
    Effect.gen(function* () {
      const readiness = yield* Readiness
      assert.deepStrictEqual(yield* readiness.report, { ready: false, listener: "starting" })
      yield* readiness.setListener("serving")
      assert.deepStrictEqual(yield* readiness.report, { ready: true, listener: "serving" })
      yield* readiness.setListener("draining")
      assert.deepStrictEqual(yield* readiness.report, { ready: false, listener: "draining" })
    }).pipe(Effect.provide(Readiness.layer))
  )

  it.effect("R54: does not depend on the checks, which the full report names", () =>
    Effect.gen(function* () {
      const readiness = yield* Readiness
      yield* readiness.setListener("serving")
      yield* readiness.add("database", Effect.fail("gone"))
      yield* readiness.add("store", Effect.die("broken"))
      yield* readiness.add("index", Effect.void)
      assert.isTrue((yield* readiness.report).ready)
      assert.deepStrictEqual(yield* readiness.full, {
        ready: true,
        listener: "serving",
        healthy: false,
        checks: { database: "failed", store: "failed", index: "ok" },
        background: {}
      })
    }).pipe(Effect.provide(Readiness.layer))
  )

  it.effect("is not healthy while it does not take requests", () =>
    Effect.gen(function* () {
      const readiness = yield* Readiness
      yield* readiness.add("database", Effect.void)
      assert.isFalse((yield* readiness.full).healthy)
      yield* readiness.setListener("serving")
      assert.isTrue((yield* readiness.full).healthy)
    }).pipe(Effect.provide(Readiness.layer))
  )

  it.effect("gives up on a check after a second", () =>
    Effect.gen(function* () {
      const readiness = yield* Readiness
      yield* readiness.setListener("serving")
      yield* readiness.add("database", Effect.never)
      const report = yield* Effect.forkChild(readiness.full)
      yield* TestClock.adjust("999 millis")
      assert.isUndefined(report.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.deepInclude(yield* Fiber.join(report), { healthy: false, checks: { database: "timeout" } })
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
      const report = yield* Effect.forkChild(readiness.full)
      yield* TestClock.adjust("1 second")
      assert.deepInclude(yield* Fiber.join(report), { checks: { database: "timeout" } })
      yield* Deferred.await(stopping)
    }).pipe(Effect.provide(Readiness.layer))
  )

  it.effect("starts no check while one hangs that was given up", () =>
    Effect.gen(function* () {
      const readiness = yield* Readiness
      const end = yield* Deferred.make<void>()
      let runs = 0
      yield* readiness.add(
        "database",
        Effect.suspend(() => {
          runs++
          return Effect.uninterruptible(Deferred.await(end))
        })
      )
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(runs, 1)
      assert.deepStrictEqual((yield* readiness.full).checks, { database: "timeout" })
      yield* Deferred.succeed(end, undefined)
      yield* aNewResult
      assert.deepStrictEqual((yield* readiness.full).checks, { database: "ok" })
      assert.strictEqual(runs, 2)
    }).pipe(Effect.provide(Readiness.layer))
  )

  it.effect("runs a check every 15 seconds by itself, and at most every 5 however many ask", () =>
    Effect.gen(function* () {
      const readiness = yield* Readiness
      let runs = 0
      yield* readiness.add(
        "database",
        Effect.sync(() => runs++)
      )
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(runs, 5)
      yield* aNewResult
      yield* Effect.all(
        Array.from({ length: 100 }, () => readiness.full),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(runs, 6)
    }).pipe(Effect.provide(Readiness.layer))
  )

  it.effect("does not log that a check was slow once, or while the process started, as on a busy machine", () => {
    const { lines, logger } = makeLog()
    return Effect.gen(function* () {
      const readiness = yield* Readiness
      let isBusy = true
      yield* readiness.add(
        "database",
        Effect.suspend(() => (isBusy ? Effect.never : Effect.void))
      )
      // Two runs during the start, and one after it.
      yield* TestClock.adjust("17 seconds")
      yield* readiness.setListener("serving")
      isBusy = false
      yield* TestClock.adjust("15 seconds")
      isBusy = true
      yield* TestClock.adjust("15 seconds")
      isBusy = false
      yield* TestClock.adjust("15 seconds")
      assert.deepStrictEqual(lines, [])
      isBusy = true
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(lines, ["Warn The check database failed: timeout"])
    }).pipe(Effect.provide([Readiness.layer, Logger.layer([logger])]))
  })

  it.effect("logs a failing check once, and its end", () => {
    const { lines, logger } = makeLog()
    return Effect.gen(function* () {
      const readiness = yield* Readiness
      let isAway = true
      yield* readiness.add(
        "database",
        Effect.suspend(() => (isAway ? Effect.fail("gone") : Effect.void))
      )
      yield* TestClock.adjust("1 minute")
      isAway = false
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(lines.length, 2)
      assert.match(lines[0] ?? "", /^Warn The check database failed: failed/)
      assert.strictEqual(lines[1], "Info The check database succeeds again")
    }).pipe(Effect.provide([Readiness.layer, Logger.layer([logger])]))
  })

  it.effect("asks a check no more when the layer that added it is closed", () =>
    Effect.gen(function* () {
      const readiness = yield* Readiness
      yield* readiness.setListener("serving")
      const scope = yield* Scope.make()
      yield* Scope.provide(readiness.add("database", Effect.fail("gone")), scope)
      yield* Scope.close(scope, Exit.void)
      assert.deepInclude(yield* readiness.full, { healthy: true, checks: {} })
    }).pipe(Effect.provide(Readiness.layer))
  )
})
