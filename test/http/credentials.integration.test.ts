import { layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Postgres from "../support/Postgres.ts"
import { found, providing, servicesOver, unlimited } from "../support/Services.ts"
import * as SqlStorage from "../support/SqlStorage.ts"
import { credentialTable } from "./Credentials.table.ts"

const providers = providing(() => Effect.succeed(found(1)))

Postgres.describeWithPostgres("credentials on Postgres", () => {
  layer(servicesOver(SqlStorage.layer(Postgres.layer), providers, { limiter: unlimited }))(credentialTable)
})
