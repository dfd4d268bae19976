import { layer } from "@effect/vitest"
import * as EmbeddedDatabase from "../../support/EmbeddedDatabase.ts"
import * as SqlStorage from "../../support/SqlStorage.ts"
import { appsConformance } from "../Apps.conformance.ts"

layer(SqlStorage.layer(EmbeddedDatabase.layer))("Apps on PGlite", appsConformance)
