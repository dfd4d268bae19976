import { describe } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import * as Postgres from "../../../src/layers/sql/store/Postgres.ts"
import * as Database from "./Database.ts"

/**
 * Idle connections stay open. Otherwise the pool would check them every 25 seconds, even during the years by which a test
 * advances the clock.
 */
const clientOf = (database: typeof Database.freshDatabase) =>
  Layer.unwrap(Effect.map(database, ({ url }) => Postgres.layer({ url, poolSize: 5, idleTimeout: Duration.infinity })))

/** A client of a new database with the current schema. */
export const layer = clientOf(Database.freshDatabase)

/** A client of a new, empty database. */
export const emptyLayer = clientOf(Database.emptyDatabase)

const reachable = await Effect.runPromise(Database.reachable)
if (!reachable && process.env.QUARRY_REQUIRE_SERVICES === "1") {
  throw new Error(`QUARRY_REQUIRE_SERVICES=1, but there is no Postgres at ${Database.serverUrl}`)
}

const howToGetIt = "needs Postgres 15 or later, its address in QUARRY_TEST_DATABASE_URL"

/** A group of tests that need a Postgres server. If there is none, it is skipped with a message. */
export const describeWithPostgres = (name: string, tests: () => void): void => {
  if (!reachable) console.warn(`Skipped: ${name} (${howToGetIt})`)
  describe.skipIf(!reachable)(reachable ? name : `${name} (${howToGetIt})`, tests)
}
