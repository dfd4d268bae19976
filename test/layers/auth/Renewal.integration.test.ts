import { layer } from "@effect/vitest"
import * as Postgres from "../../support/Postgres.ts"
import * as SqlStorage from "../../support/SqlStorage.ts"
import { renewalConformance } from "../Renewal.conformance.ts"

Postgres.describeWithPostgres("Renewal on Postgres", () => {
  layer(SqlStorage.layer(Postgres.layer))(renewalConformance)
})
