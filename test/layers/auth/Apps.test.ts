import { layer } from "@effect/vitest"
import * as EmbeddedDatabase from "../../support/stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"
import { appDocumentsConformance } from "../conformance/accounts/AppDocuments.conformance.ts"
import { appsConformance } from "../conformance/accounts/Apps.conformance.ts"

layer(SqlStorage.layer(EmbeddedDatabase.layer))("Apps on PGlite", (it) => {
  appsConformance(it)
  appDocumentsConformance(it)
})
