import { layer } from "@effect/vitest"
import * as Postgres from "../../../support/stores/Postgres.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"
import { renewalConformance } from "../../conformance/accounts/Renewal.conformance.ts"

Postgres.describeWithPostgres("Renewal on Postgres", () => {
  layer(SqlStorage.layer(Postgres.layer))(renewalConformance)
})
