import { layer } from "@effect/vitest"
import * as Postgres from "../../support/stores/Postgres.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"
import { sessionsConformance } from "../conformance/accounts/Sessions.conformance.ts"

Postgres.describeWithPostgres("SessionsBetterAuth on Postgres", () => {
  layer(SqlStorage.layer(Postgres.layer))(sessionsConformance)
})
