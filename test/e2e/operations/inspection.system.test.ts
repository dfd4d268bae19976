import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { ReplicaStatus } from "../../../src/domain/operations/Status.ts"
import * as Postgres from "../../../src/layers/sql/store/Postgres.ts"
import * as Engine from "../../../torture/support/Engine.ts"
import { command } from "../../support/processes/Command.ts"
import { freePort, startServer } from "../../support/processes/Spawned.ts"
import { emptyDatabase, settingsOf } from "../../support/stores/Database.ts"
import * as EmbeddedStore from "../../support/stores/EmbeddedStore.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

const timeout = 360_000

const makeEnv = Effect.map(Effect.all([emptyDatabase, Engine.start]), ([{ url }, engine]) => ({
  ...settingsOf(url),
  SEARXNG_URL: engine,
  QUARRY_COMMIT: "1a2b3c4",
  LOG_FORMAT: "json",
  DRAIN_DELAY: "0"
}))

const quarry = (env: Record<string, string>, ...args: ReadonlyArray<string>) =>
  Effect.map(command(env, ...args, "--json"), ({ code, stderr, stdout }) => ({
    code,
    stderr,
    json: JSON.parse(stdout)
  }))

/** Makes every heartbeat two minutes older, which is how time passes for replicas that have ended. */
const age = (url: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
    update replicas set seen_at = seen_at - interval '2 minutes', started_at = started_at - interval '2 minutes'`
  ).pipe(Effect.provide(Postgres.layer({ url: Redacted.make(url), poolSize: 1 }), { local: true }))

/** Two good rows and an invalid one. */
const rows = ["css grid", { query: "http caching" }, { query: "" }]

const sendBatch = (url: string, secret: string, requestId: string) =>
  Effect.promise(async () => {
    const response = await fetch(`${url}/v1/bulk`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${secret}`,
        "content-type": "application/json",
        "x-request-id": requestId
      },
      body: JSON.stringify({ queries: rows })
    })
    assert.strictEqual(response.status, 200)
  })

describeWithPostgres("what the operator looks at, of replicas on Postgres", () => {
  it.live(
    "finds a batch by the id of its request, and each replica until it ends",
    () =>
      Effect.gen(function* () {
        const env = yield* makeEnv
        const early = yield* quarry(env, "usage", "top")
        assert.strictEqual(early.code, 1)
        assert.match(early.stderr, /^quarry: The database is empty: start the server, or run `[^`]* migrate`\.\n$/)

        const [first, second] = yield* Effect.all([startServer(env), startServer(env)], { concurrency: 2 })
        const { json: account } = yield* quarry(env, "account", "create", "--email", "ops@example.org")
        const { json: key } = yield* quarry(env, "key", "create", "--account", account.account_id, "--name", "ci")
        const requestId = randomUUID()
        yield* sendBatch(first.origin, key.secret, requestId)

        const { json: request } = yield* quarry(env, "request", "show", "--id", requestId.toUpperCase())
        assert.deepInclude(request, {
          request_id: requestId,
          account_ids: [account.account_id],
          searches: 2,
          credits: 2
        })
        const [batchId] = request.batch_ids
        const { json: batch } = yield* quarry(env, "batch", "show", "--id", batchId)
        assert.deepInclude(batch, { key_id: key.id, request_id: requestId, searches: 2 })
        assert.deepStrictEqual(
          batch.rows.map((row: { readonly row: number; readonly query: string }) => [row.row, row.query]),
          [
            [0, "css grid"],
            [1, "http caching"]
          ]
        )
        const { json: query } = yield* quarry(env, "query", "show", "--id", batch.rows[1].id)
        assert.deepStrictEqual(query, batch.rows[1])
        const { json: usage } = yield* quarry(env, "usage", "top")
        assert.deepInclude(usage.top[0], { account: account.account_id, email: "ops@example.org", searches: 2 })
        assert.deepStrictEqual((yield* quarry(env, "holds", "list")).json, { open: 0, overdue: 0, holds: [] })

        // The first heartbeat comes before the listener has an address.
        const hasAddresses = (replicas: ReadonlyArray<ReplicaStatus>) =>
          replicas.every(({ address }) => address !== null)
        let { json: status } = yield* quarry(env, "status")
        for (let tries = 0; tries < 60 && !hasAddresses(status.replicas); tries++) {
          yield* Effect.sleep("500 millis")
          status = (yield* quarry(env, "status")).json
        }
        assert.deepStrictEqual([status.ok, status.problems, status.replicas.length], [true, [], 2])
        assert.deepStrictEqual(status.providers[0].replicas, { closed: 2, open: 0, half_open: 0 })
        assert.deepStrictEqual(
          new Set(status.replicas.map((it: ReplicaStatus) => `${it.address} ${it.commit}`)),
          new Set([first, second].map(({ port }) => `127.0.0.1:${port} 1a2b3c4`))
        )

        second.server.kill("SIGTERM")
        yield* second.server.ended
        assert.strictEqual((yield* quarry(env, "status")).json.replicas.length, 1)
        first.server.kill("SIGKILL")
        yield* first.server.ended
        yield* age(env.DATABASE_URL)
        const silent = yield* quarry(env, "status")
        assert.strictEqual(silent.code, 1)
        assert.match(
          silent.json.problems.join("\n"),
          /No replica is running\.\nReplica rep_\w+ at .* has been silent for/
        )
        const [crashed] = silent.json.replicas
        yield* startServer(env)
        const restarted = yield* quarry(env, "status")
        assert.deepStrictEqual([restarted.code, restarted.json.problems], [0, []])
        const [, successor] = restarted.json.replicas
        assert.strictEqual(restarted.json.replicas[0].successor, successor.id)
        assert.strictEqual((yield* quarry(env, "replica", "forget", successor.id)).code, 1)
        assert.strictEqual((yield* quarry(env, "replica", "forget", crashed.id)).code, 0)
        assert.deepStrictEqual(
          (yield* quarry(env, "status")).json.replicas.map(({ id }: ReplicaStatus) => id),
          [successor.id]
        )
      }),
    timeout
  )
})

describe("what the operator looks at, of a server on the embedded database", () => {
  it.live(
    "comes from the server's private listener, because no second process can open the database",
    () =>
      Effect.gen(function* () {
        const adminPort = yield* freePort
        const env = { DATA_DIR: yield* EmbeddedStore.directory, ADMIN_PORT: `${adminPort}`, LOG_FORMAT: "json" }
        yield* startServer(env)
        const { code, json } = yield* quarry(env, "status")
        assert.deepStrictEqual([code, json.ok, json.replicas.length], [0, true, 1])
        assert.deepInclude(json.database, { kind: "embedded", reachable: true, connections: null })
        for (const port of ["0", `${yield* freePort}`]) {
          const blind = yield* quarry({ ...env, ADMIN_PORT: port }, "status")
          assert.strictEqual(blind.code, 1)
          assert.match(blind.stderr, /^quarry: The data directory [^\n]* is in use by process \d+/)
        }
      }),
    timeout
  )
})
