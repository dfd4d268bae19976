import { randomUUID } from "node:crypto"
import { describe } from "@effect/vitest"
import { Effect, Exit, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Postgres from "../../src/layers/sql/Postgres.ts"

const url = process.env.QUARRY_TEST_DATABASE_URL ?? "postgres://root@127.0.0.1:5432/postgres"

const admin = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.provide(effect, Postgres.layer({ url: Redacted.make(url), poolSize: 1 }), { local: true })

const run = (text: string) => admin(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(text)))

const urlOf = (database: string): Redacted.Redacted => {
  const target = new URL(url)
  target.pathname = `/${database}`
  return Redacted.make(target.href)
}

/** The address of a new, empty database that lives as long as the scope. */
export const freshDatabase = Effect.acquireRelease(
  Effect.gen(function* () {
    const name = `quarry_test_${randomUUID().replaceAll("-", "")}`
    yield* run(`create database ${name}`)
    return { name, url: urlOf(name) }
  }),
  ({ name }) => Effect.orDie(run(`drop database ${name} with (force)`))
)

/** The client of a new, empty database. */
export const layer = Layer.unwrap(Effect.map(freshDatabase, ({ url }) => Postgres.layer({ url, poolSize: 5 })))

const reachable = Exit.isSuccess(await Effect.runPromiseExit(run("select 1")))
if (!reachable && process.env.QUARRY_REQUIRE_SERVICES === "1") {
  throw new Error(`QUARRY_REQUIRE_SERVICES=1, but there is no Postgres at ${url}`)
}

const howToGetIt = "needs Postgres 15 or later, its address in QUARRY_TEST_DATABASE_URL"

/** A group of tests that needs a Postgres server, and says so when it is skipped for want of one. */
export const describeWithPostgres = (name: string, tests: () => void): void => {
  if (!reachable) console.warn(`Skipped: ${name} (${howToGetIt})`)
  describe.skipIf(!reachable)(reachable ? name : `${name} (${howToGetIt})`, tests)
}
