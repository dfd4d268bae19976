import { layer } from "@effect/vitest"
import * as EmbeddedDatabase from "../../support/stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"
import { membersConformance } from "../conformance/accounts/Members.conformance.ts"

layer(SqlStorage.layer(EmbeddedDatabase.layer))("MembersBetterAuth on PGlite", membersConformance)
