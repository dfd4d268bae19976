import { layer } from "@effect/vitest"
import * as EmbeddedDatabase from "../../support/EmbeddedDatabase.ts"
import * as SqlStorage from "../../support/SqlStorage.ts"
import { signInConformance } from "../SignIn.conformance.ts"

layer(SqlStorage.layer(EmbeddedDatabase.layer))("SignInBetterAuth on PGlite", signInConformance)
