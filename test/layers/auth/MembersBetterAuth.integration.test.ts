import { layer } from "@effect/vitest"
import * as Postgres from "../../support/stores/Postgres.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"
import { membersConformance } from "../conformance/accounts/Members.conformance.ts"

Postgres.describeWithPostgres("MembersBetterAuth on Postgres", () => {
  layer(SqlStorage.layer(Postgres.layer))(membersConformance)
})
