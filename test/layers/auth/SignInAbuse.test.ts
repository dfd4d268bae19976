import { layer } from "@effect/vitest"
import * as EmbeddedDatabase from "../../support/EmbeddedDatabase.ts"
import * as SqlStorage from "../../support/SqlStorage.ts"
import { signInAbuseConformance } from "../SignInAbuse.conformance.ts"

layer(SqlStorage.layer(EmbeddedDatabase.layer))("sign-in on PGlite, against abuse", signInAbuseConformance)
