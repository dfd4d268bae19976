import { layer } from "@effect/vitest"
import * as Postgres from "../../support/Postgres.ts"
import * as SqlStorage from "../../support/SqlStorage.ts"
import { signInAbuseConformance } from "../SignInAbuse.conformance.ts"

Postgres.describeWithPostgres("sign-in on Postgres, against abuse", () => {
  layer(SqlStorage.layer(Postgres.layer))(signInAbuseConformance)
})
