import { layer } from "@effect/vitest"
import * as EmbeddedDatabase from "../../support/EmbeddedDatabase.ts"
import * as SqlStorage from "../../support/SqlStorage.ts"
import { sessionsConformance } from "../Sessions.conformance.ts"

layer(SqlStorage.layer(EmbeddedDatabase.layer))("SessionsBetterAuth on PGlite", sessionsConformance)
