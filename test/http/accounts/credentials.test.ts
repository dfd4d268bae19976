import { layer } from "@effect/vitest"
import { Effect } from "effect"
import * as BillingStub from "../../support/accounts/BillingStub.ts"
import { found, providing, servicesOver, unlimited } from "../../support/api/Services.ts"
import * as EmbeddedDatabase from "../../support/stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"
import { credentialTable } from "./Credentials.table.ts"

const providers = providing(() => Effect.succeed(found(1)))
const options = { limiter: unlimited, billing: BillingStub.layer() }

layer(servicesOver(SqlStorage.layer(EmbeddedDatabase.layer), providers, options))(
  "credentials on the embedded store",
  credentialTable
)
