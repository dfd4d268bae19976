import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as DatabaseReadiness from "../../../src/layers/sql/DatabaseReadiness.ts"
import * as Pglite from "../../../src/layers/sql/Pglite.ts"
import { Readiness } from "../../../src/services/Readiness.ts"

describe("DatabaseReadiness", () => {
  it.live("is ready while the database answers, and not while another holds its only connection", () =>
    Effect.gen(function* () {
      const readiness = yield* Readiness
      const sql = yield* SqlClient.SqlClient
      yield* readiness.setListener("serving")
      assert.deepInclude(yield* readiness.report, { ready: true, checks: { database: "ok" } })
      const begun = yield* Deferred.make<void>()
      const holding = yield* Effect.forkChild(
        sql.withTransaction(Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
      )
      yield* Deferred.await(begun)
      assert.deepInclude(yield* readiness.report, { ready: false, checks: { database: "timeout" } })
      yield* Fiber.interrupt(holding)
      assert.deepInclude(yield* readiness.report, { ready: true, checks: { database: "ok" } })
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
