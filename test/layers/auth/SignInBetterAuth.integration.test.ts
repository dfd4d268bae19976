import { layer } from "@effect/vitest"
import * as Postgres from "../../support/Postgres.ts"
import * as SqlStorage from "../../support/SqlStorage.ts"
import { signInConformance } from "../SignIn.conformance.ts"

Postgres.describeWithPostgres("SignInBetterAuth on Postgres", () => {
  layer(SqlStorage.layer(Postgres.layer))(signInConformance)
})
