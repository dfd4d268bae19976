import { describe } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import * as Postgres from "../../../src/layers/sql/store/Postgres.ts"
import * as Database from "./Database.ts"

/**
 * The client of a new, empty database. Idle connections stay open: a pool that closes them checks every 25 seconds, also
 * through the years by which a test moves the clock.
 */
export const layer = Layer.unwrap(
  Effect.map(Database.freshDatabase, ({ url }) => Postgres.layer({ url, poolSize: 5, idleTimeout: Duration.infinity }))
)

const reachable = await Effect.runPromise(Database.reachable)
if (!reachable && process.env.QUARRY_REQUIRE_SERVICES === "1") {
  throw new Error(`QUARRY_REQUIRE_SERVICES=1, but there is no Postgres at ${Database.serverUrl}`)
}

const howToGetIt = "needs Postgres 15 or later, its address in QUARRY_TEST_DATABASE_URL"

/** A group of tests that needs a Postgres server, and says so when it is skipped for want of one. */
export const describeWithPostgres = (name: string, tests: () => void): void => {
  if (!reachable) console.warn(`Skipped: ${name} (${howToGetIt})`)
  describe.skipIf(!reachable)(reachable ? name : `${name} (${howToGetIt})`, tests)
}
