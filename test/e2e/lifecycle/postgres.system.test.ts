import { assert, it } from "@effect/vitest"
import { Clock, Effect, Redacted, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import * as Postgres from "../../../src/layers/sql/store/Postgres.ts"
import * as Engine from "../../../torture/support/Engine.ts"
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

  it.live(
    "a database that goes away is answered by the envelope at once, and its return needs no restart",
    () =>
      Effect.gen(function* () {
        const server = yield* postgresServer
        const port = yield* freePort
        const env = { ...settingsOf(server), SEARXNG_URL: yield* Engine.start, PORT: `${port}` }
        const replica = yield* spawned("src/main.ts", [], env)
        yield* replica.said(listens)
        const { account_id } = yield* json(env, "account", "create", "--email", "ops@example.org", "--plan", "starter")
        const { secret } = yield* json(env, "key", "create", "--account", account_id, "--name", "ci")
        const search = Effect.gen(function* () {
          const start = yield* Clock.currentTimeMillis
          const { body, status } = yield* Effect.promise(async () => {
            const headers = { authorization: `Bearer ${secret}` }
            const response = await fetch(`http://127.0.0.1:${port}/v1/query?query=css+grid`, { headers })
            return { status: response.status, body: JSON.parse(await response.text()) }
          })
          return { status, body, ms: (yield* Clock.currentTimeMillis) - start }
        })
        assert.strictEqual((yield* search).status, 200)
        yield* server.stop("immediate")
        for (let n = 0; n < 3; n++) {
          const { body, ms, status } = yield* search
          assert.strictEqual(status, 500)
          assert.strictEqual(body.error, "internal_error")
          assert.isBelow(ms, 3000)
        }
        yield* server.start
        const back = yield* search.pipe(
          Effect.filterOrFail(({ status }) => status === 200),
          Effect.retry({ schedule: Schedule.spaced("100 millis"), times: 300 })
        )
        assert.strictEqual(back.status, 200)
        assert.deepStrictEqual((yield* json(env, "account", "show", "--id", account_id)).allowance.used, 2)
        assert.deepStrictEqual(yield* json(env, "ledger", "verify"), { ok: true, discrepancies: [] })
      }),
    timeout
  )
})
