import { layer } from "@effect/vitest"
import * as EmbeddedDatabase from "../../support/stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"
import { sessionsConformance } from "../conformance/accounts/Sessions.conformance.ts"

layer(SqlStorage.layer(EmbeddedDatabase.layer))("SessionsBetterAuth on PGlite", sessionsConformance)
