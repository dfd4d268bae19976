import { layer } from "@effect/vitest"
import * as Postgres from "../../support/stores/Postgres.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"
import { secondFactorsConformance } from "../conformance/accounts/SecondFactors.conformance.ts"

Postgres.describeWithPostgres("second factors on Postgres", () => {
  layer(SqlStorage.layer(Postgres.layer))(secondFactorsConformance)
})
