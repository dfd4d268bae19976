import { describe, layer } from "@effect/vitest"
import * as Postgres from "../../../support/stores/Postgres.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"
import { plansConformance } from "../../conformance/credits/Plans.conformance.ts"
import { concurrentTurns } from "../webhooks/EventQueues.conformance.ts"
import { storageConformance } from "./Storage.conformance.ts"

Postgres.describeWithPostgres("Postgres", () => {
  layer(SqlStorage.layer(Postgres.layer))("on one store", (it) => {
    storageConformance(it, 100_000)
    describe("EventBooksSql", () => concurrentTurns(it))
  })

  // A database of its own: the plans in force are those of every account.
  layer(SqlStorage.layer(Postgres.layer))("PlanBooksSql", (it) => plansConformance(it, SqlStorage.replica))
})
