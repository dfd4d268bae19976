import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Postgres from "../../../src/layers/sql/store/Postgres.ts"
import { command } from "../../support/processes/Command.ts"
import { freePort, spawned } from "../../support/processes/Spawned.ts"
import { describeWithServers, type PostgresServer, postgresServer } from "../../support/servers/PostgresServer.ts"

const timeout = 180_000

const listens = "Quarry listens at "
const replicas = 10

const settingsOf = (server: PostgresServer) => ({
  DATABASE_URL: Redacted.value(server.url),
  AUTH_SECRET: "a secret for tests, of 32 characters or more",
  KEY_PEPPER: "a pepper for tests of 32 characters or more",
  ADMIN_PORT: "0",
  // All replicas together stay below the server's limit of connections.
  DATABASE_POOL_SIZE: "5",
  LOG_FORMAT: "json"
})

const json = (env: Record<string, string>, ...args: ReadonlyArray<string>) =>
  Effect.map(command(env, ...args, "--json"), ({ stdout }) => JSON.parse(stdout))

describeWithServers("replicas on Postgres", () => {
  it.live(
    "ten that start at once on an empty database are all ready, and it was migrated once",
    () =>
      Effect.gen(function* () {
        const server = yield* postgresServer
        const started = yield* Effect.forEach(
          Array.from({ length: replicas }),
          () =>
            Effect.flatMap(freePort, (port) => spawned("src/main.ts", [], { ...settingsOf(server), PORT: `${port}` })),
          { concurrency: "unbounded" }
        )
        for (const replica of started) assert.include(yield* replica.said(listens), listens)
        const [applied] = yield* Effect.flatMap(
          SqlClient.SqlClient,
          (sql) => sql`
            select count(*)::int as times, count(distinct migration_id)::int as migrations from quarry_migrations`
        ).pipe(Effect.provide(Postgres.layer({ url: server.url, poolSize: 1 })))
        assert.strictEqual(applied?.times, applied?.migrations)
        assert.deepStrictEqual(yield* json(settingsOf(server), "migrate"), { applied: [] })
      }),
    timeout
  )
})
