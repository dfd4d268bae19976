import { layer } from "@effect/vitest"
import * as EmbeddedDatabase from "../../support/stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"
import { signInAbuseConformance } from "../conformance/accounts/SignInAbuse.conformance.ts"

layer(SqlStorage.layer(EmbeddedDatabase.layer))("sign-in on PGlite, against abuse", signInAbuseConformance)
