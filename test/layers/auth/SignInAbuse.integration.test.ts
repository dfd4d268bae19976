import { layer } from "@effect/vitest"
import * as Postgres from "../../support/stores/Postgres.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"
import { signInAbuseConformance } from "../conformance/accounts/SignInAbuse.conformance.ts"

Postgres.describeWithPostgres("sign-in on Postgres, against abuse", () => {
  layer(SqlStorage.layer(Postgres.layer))(signInAbuseConformance)
})
