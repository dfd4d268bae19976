import { layer } from "@effect/vitest"
import { Effect } from "effect"
import * as BillingStub from "../support/BillingStub.ts"
import * as Postgres from "../support/Postgres.ts"
import { found, providing, servicesOver, unlimited } from "../support/Services.ts"
import * as SqlStorage from "../support/SqlStorage.ts"
import { credentialTable } from "./Credentials.table.ts"

const providers = providing(() => Effect.succeed(found(1)))
const options = { limiter: unlimited, billing: BillingStub.layer() }

Postgres.describeWithPostgres("credentials on Postgres", () => {
  layer(servicesOver(SqlStorage.layer(Postgres.layer), providers, options))(credentialTable)
})
