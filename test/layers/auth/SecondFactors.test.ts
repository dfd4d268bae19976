import { layer } from "@effect/vitest"
import * as EmbeddedDatabase from "../../support/stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"
import { secondFactorsConformance } from "../conformance/accounts/SecondFactors.conformance.ts"

layer(SqlStorage.layer(EmbeddedDatabase.layer))("second factors on PGlite", secondFactorsConformance)
