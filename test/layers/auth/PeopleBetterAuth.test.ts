import { layer } from "@effect/vitest"
import * as Pglite from "../../../src/layers/sql/Pglite.ts"
import * as SqlStorage from "../../support/SqlStorage.ts"
import { peopleConformance } from "../People.conformance.ts"

layer(SqlStorage.layer(Pglite.layer({ dataDir: undefined })), { timeout: "60 seconds" })(
  "PeopleBetterAuth on PGlite",
  peopleConformance
)
