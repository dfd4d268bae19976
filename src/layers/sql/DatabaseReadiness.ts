import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Readiness } from "../../services/Readiness.ts"

/** The service is ready while its database answers. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const readiness = yield* Readiness
    yield* readiness.add("database", sql`SELECT 1`)
  })
)
