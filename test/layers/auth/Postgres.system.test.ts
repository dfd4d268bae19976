import { layer, type Vitest } from "@effect/vitest"
import type { Layer } from "effect"
import * as Postgres from "../../support/stores/Postgres.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"
import { appDocumentsConformance } from "../conformance/accounts/AppDocuments.conformance.ts"
import { appsConformance } from "../conformance/accounts/Apps.conformance.ts"
import { membersConformance } from "../conformance/accounts/Members.conformance.ts"
import { peopleConformance } from "../conformance/accounts/People.conformance.ts"
import { renewalConformance } from "../conformance/accounts/Renewal.conformance.ts"
import { secondFactorsConformance } from "../conformance/accounts/SecondFactors.conformance.ts"
import { sessionsConformance } from "../conformance/accounts/Sessions.conformance.ts"
import { signInAbuseConformance } from "../conformance/accounts/SignInAbuse.conformance.ts"

const storage = SqlStorage.layer(Postgres.layer)

/** A suite on a database of its own. Without a name, `layer` closes too early where a test gets a second try. */
const onPostgres = (name: string, suite: (it: Vitest.MethodsNonLive<Layer.Success<typeof storage>>) => void): void =>
  Postgres.describeWithPostgres(`${name} on Postgres`, () => layer(storage)("a database", suite))

// `npm test` runs these suites on the embedded store, whose SQL is the same.
onPostgres("Apps", (it) => {
  appsConformance(it)
  appDocumentsConformance(it)
})
onPostgres("MembersBetterAuth", membersConformance)
onPostgres("PeopleBetterAuth", peopleConformance)
onPostgres("Renewal", renewalConformance)
onPostgres("second factors", secondFactorsConformance)
onPostgres("SessionsBetterAuth", sessionsConformance)
onPostgres("sign-in, against abuse,", signInAbuseConformance)
