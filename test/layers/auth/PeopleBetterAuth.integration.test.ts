import { layer } from "@effect/vitest"
import * as Postgres from "../../support/stores/Postgres.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"
import { peopleConformance } from "../conformance/accounts/People.conformance.ts"

Postgres.describeWithPostgres("PeopleBetterAuth on Postgres", () => {
  layer(SqlStorage.layer(Postgres.layer))(peopleConformance)
})
