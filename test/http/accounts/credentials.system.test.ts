import { layer } from "@effect/vitest"
import { Effect } from "effect"
import * as BillingStub from "../../support/accounts/BillingStub.ts"
import { found, providing, servicesOver, unlimited } from "../../support/api/Services.ts"
import * as Postgres from "../../support/stores/Postgres.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"
import { credentialTable } from "./Credentials.table.ts"

const providers = providing(() => Effect.succeed(found(1)))
const options = { limiter: unlimited, billing: BillingStub.layer() }

Postgres.describeWithPostgres("credentials on Postgres", () => {
  layer(servicesOver(SqlStorage.layer(Postgres.layer), providers, options))("a deployment", credentialTable)
})
