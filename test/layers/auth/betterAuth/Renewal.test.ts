import { layer } from "@effect/vitest"
import * as EmbeddedDatabase from "../../../support/stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"
import { renewalConformance } from "../../conformance/accounts/Renewal.conformance.ts"

layer(SqlStorage.layer(EmbeddedDatabase.layer))("Renewal on PGlite", renewalConformance)
