import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Pglite from "../../../../src/layers/sql/store/Pglite.ts"
import * as EmbeddedDatabase from "../../../support/stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"
import { plansConformance } from "../../conformance/credits/Plans.conformance.ts"
import { storageConformance } from "./Storage.conformance.ts"

layer(SqlStorage.layer(Pglite.layer({ dataDir: undefined })))("PGlite", (it) => {
  storageConformance(it, 20_000)

  it.effect("timers and sockets have their turn while statements follow each other", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      let isOver = false
      setTimeout(() => {
        isOver = true
      }, 0)
      yield* Effect.repeat(sql`select 1`, { until: () => isOver, times: 2000 })
      assert.isTrue(isOver)
    })
  )
})

// A store of its own: the plans in force are those of every account.
layer(SqlStorage.layer(EmbeddedDatabase.layer))("PGlite, PlanBooksSql", (it) =>
  plansConformance(it, SqlStorage.replica)
)
