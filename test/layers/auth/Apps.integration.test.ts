import { layer } from "@effect/vitest"
import * as Postgres from "../../support/stores/Postgres.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"
import { appDocumentsConformance } from "../conformance/accounts/AppDocuments.conformance.ts"
import { appsConformance } from "../conformance/accounts/Apps.conformance.ts"

Postgres.describeWithPostgres("Apps on Postgres", () => {
  layer(SqlStorage.layer(Postgres.layer))((it) => {
    appsConformance(it)
    appDocumentsConformance(it)
  })
})
