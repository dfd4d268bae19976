import { layer } from "@effect/vitest"
import * as Postgres from "../../support/Postgres.ts"
import * as SqlStorage from "../../support/SqlStorage.ts"
import { sessionsConformance } from "../Sessions.conformance.ts"

Postgres.describeWithPostgres("SessionsBetterAuth on Postgres", () => {
  layer(SqlStorage.layer(Postgres.layer))(sessionsConformance)
})
