import { layer } from "@effect/vitest"
import * as EmbeddedDatabase from "../../support/EmbeddedDatabase.ts"
import * as SqlStorage from "../../support/SqlStorage.ts"
import { renewalConformance } from "../Renewal.conformance.ts"

layer(SqlStorage.layer(EmbeddedDatabase.layer))("Renewal on PGlite", renewalConformance)
