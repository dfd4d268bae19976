import { layer } from "@effect/vitest"
import * as Postgres from "../../support/stores/Postgres.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"
import { signInConformance } from "../conformance/accounts/SignIn.conformance.ts"

Postgres.describeWithPostgres("SignInBetterAuth on Postgres", () => {
  layer(SqlStorage.layer(Postgres.layer))("a database", signInConformance)
})
