import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as DatabaseReadiness from "../../../../src/layers/sql/store/DatabaseReadiness.ts"
import * as Pglite from "../../../../src/layers/sql/store/Pglite.ts"
import { Readiness } from "../../../../src/services/operations/Readiness.ts"

const healthy = { database_read: "ok", database_write: "ok" } as const

describe("DatabaseReadiness", () => {
  it.effect("R54: the checks fail while another holds the only connection, and the process stays ready", () =>
    Effect.gen(function* () {
      const readiness = yield* Readiness
      const sql = yield* SqlClient.SqlClient
      yield* readiness.setListener("serving")
      assert.deepInclude(yield* readiness.full, { healthy: true, checks: healthy })
      const begun = yield* Deferred.make<void>()
      const holding = yield* Effect.forkChild(
        sql.withTransaction(Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
      )
      yield* Deferred.await(begun)
      yield* TestClock.adjust("6 seconds")
      const report = yield* Effect.forkChild(readiness.full)
      yield* TestClock.adjust("1 second")
      assert.deepInclude(yield* Fiber.join(report), {
        ready: true,
        healthy: false,
        checks: { database_read: "timeout", database_write: "timeout" }
      })
      yield* Fiber.interrupt(holding)
      yield* TestClock.adjust("6 seconds")
      assert.deepInclude(yield* readiness.full, { healthy: true, checks: healthy })
    }).pipe(
      Effect.provide(
        DatabaseReadiness.layer.pipe(
          Layer.provideMerge(Pglite.layer({ dataDir: undefined })),
          Layer.provideMerge(Readiness.layer)
        )
      )
    )
  )
})
