import { layer } from "@effect/vitest"
import * as Postgres from "../../support/Postgres.ts"
import * as SqlStorage from "../../support/SqlStorage.ts"
import { peopleConformance } from "../People.conformance.ts"

Postgres.describeWithPostgres("PeopleBetterAuth on Postgres", () => {
  layer(SqlStorage.layer(Postgres.layer))(peopleConformance)
})
