import { layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Pglite from "../../src/layers/sql/Pglite.ts"
import * as MemoryStorage from "../support/MemoryStorage.ts"
import { found, providing, servicesOver, unlimited } from "../support/Services.ts"
import * as SqlStorage from "../support/SqlStorage.ts"
import { credentialTable } from "./Credentials.table.ts"

const providers = providing(() => Effect.succeed(found(1)))

layer(servicesOver(MemoryStorage.layer, providers, { limiter: unlimited }))("credentials in memory", credentialTable)

layer(servicesOver(SqlStorage.layer(Pglite.layer({ dataDir: undefined })), providers, { limiter: unlimited }))(
  "credentials on the embedded store",
  credentialTable
)
