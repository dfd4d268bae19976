import { layer } from "@effect/vitest"
import * as Postgres from "../../support/Postgres.ts"
import * as SqlStorage from "../../support/SqlStorage.ts"
import { appsConformance } from "../Apps.conformance.ts"

Postgres.describeWithPostgres("Apps on Postgres", () => {
  layer(SqlStorage.layer(Postgres.layer))(appsConformance)
})
