import { layer } from "@effect/vitest"
import * as EmbeddedDatabase from "../../support/stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"
import { signInConformance } from "../conformance/accounts/SignIn.conformance.ts"

layer(SqlStorage.layer(EmbeddedDatabase.layer))("SignInBetterAuth on PGlite", signInConformance)
