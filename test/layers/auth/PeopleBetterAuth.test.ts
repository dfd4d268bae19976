import { layer } from "@effect/vitest"
import * as EmbeddedDatabase from "../../support/stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"
import { peopleConformance } from "../conformance/accounts/People.conformance.ts"

layer(SqlStorage.layer(EmbeddedDatabase.layer), { timeout: "60 seconds" })(
  "PeopleBetterAuth on PGlite",
  peopleConformance
)
