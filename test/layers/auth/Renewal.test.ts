import { layer } from "@effect/vitest"
import * as Pglite from "../../../src/layers/sql/Pglite.ts"
import * as SqlStorage from "../../support/SqlStorage.ts"
import { renewalConformance } from "../Renewal.conformance.ts"

layer(SqlStorage.layer(Pglite.layer({ dataDir: undefined })))("Renewal on PGlite", renewalConformance)
