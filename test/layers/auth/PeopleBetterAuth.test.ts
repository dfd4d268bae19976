import { layer } from "@effect/vitest"
import * as EmbeddedDatabase from "../../support/EmbeddedDatabase.ts"
import * as SqlStorage from "../../support/SqlStorage.ts"
import { peopleConformance } from "../People.conformance.ts"

layer(SqlStorage.layer(EmbeddedDatabase.layer), { timeout: "60 seconds" })(
  "PeopleBetterAuth on PGlite",
  peopleConformance
)
