import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import * as Client from "../../../torture/support/Client.ts"
import * as Engine from "../../../torture/support/Engine.ts"
import * as Replica from "../../../torture/support/Replica.ts"
import * as Store from "../../../torture/support/Store.ts"
import { freePort, spawned } from "../../support/processes/Spawned.ts"
import { childrenOf } from "../../support/processes/workers.ts"
import { statusByHost } from "../../support/servers/statusByHost.ts"
import { freshDatabase } from "../../support/stores/Database.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

const timeout = 300_000

interface Asked {
  readonly status: number
  readonly text: string
}

const get = (url: string) =>
  Effect.tryPromise(async (): Promise<Asked> => {
    const response = await fetch(url)
    return { status: response.status, text: await response.text() }
  })

/** Looks again until `holds`: what it waits for takes as long as it takes on a busy machine. */
const until = (url: string, holds: (asked: Asked) => boolean) =>
  Effect.repeat(get(url), { until: holds, schedule: Schedule.spaced("50 millis") })

const servingOf = ({ text }: Asked): number => JSON.parse(text).workers.serving

/** Requests that all processes together have answered 401. */
const refused = ({ text }: Asked): number =>
  Number(/^http_server_request_duration_seconds_count\{[^}]*"401"[^}]*\} (\d+)$/m.exec(text)?.[1] ?? 0)

/** Two workers on a database of their own, all of whose lines are kept. */
const start = Effect.fnUntraced(function* () {
  const { url } = yield* freshDatabase
  const store = yield* Store.open(url)
  const adminPort = yield* freePort
  const lines: Array<string> = []
  const server = yield* Replica.start({
    database: url,
    engine: yield* Engine.start,
    env: {
      WORKERS: "2",
      ADMIN_PORT: String(adminPort),
      LOG_LEVEL: "info",
      DATABASE_POOL_SIZE: "8",
      ADMIN_HOSTS: "a.example"
    },
    onLine: (line) => lines.push(line)
  })
  const admin = `http://127.0.0.1:${adminPort}`
  yield* until(`${admin}/readyz?full`, ({ status }) => status === 200)
  return { server, store, admin, lines, client: yield* Client.make }
})

describeWithPostgres("WORKERS", () => {
  it.live(
    "several processes answer on one port with one log, metrics that add up and never fall, and one end",
    () =>
      Effect.gen(function* () {
        const { admin, client, lines, server, store } = yield* start()
        assert.strictEqual(servingOf(yield* get(`${admin}/readyz`)), 2)
        const metrics = (yield* get(`${admin}/metrics`)).text
        assert.match(metrics, /^db_client_connection_max\{[^}]*\} 8$/m)
        assert.match(metrics, /^quarry_ready 1$/m)
        // R72
        const adminPort = new URL(admin).port
        assert.strictEqual(yield* statusByHost(adminPort, "/metrics", "a.example"), 200)
        assert.strictEqual(yield* statusByHost(adminPort, "/metrics", "evil.example"), 403)
        assert.lengthOf(JSON.parse((yield* get(`${admin}/status`)).text).replicas, 2)

        // New connections in turn, so that both have counted some of them.
        const refuse = Effect.replicateEffect(get(`${server.url}/v1/query?query=a`), 10)
        yield* refuse
        assert.strictEqual(refused(yield* get(`${admin}/metrics`)), 10)

        const [, killed = 0] = childrenOf(server.pid)
        process.kill(killed, "SIGKILL")
        yield* until(`${admin}/readyz`, (asked) => servingOf(asked) === 1)
        assert.strictEqual(refused(yield* get(`${admin}/metrics`)), 10)
        yield* refuse
        yield* until(`${admin}/readyz?full`, ({ status }) => status === 200)
        assert.strictEqual(refused(yield* get(`${admin}/metrics`)), 20)
        assert.notInclude(childrenOf(server.pid), killed)

        const customer = yield* Store.customer(store, { quota: 100 })
        const search = client.search(server.url, customer.secret, "workers wait1500")
        const searches = yield* Effect.forkChild(Effect.all([search, search], { concurrency: "unbounded" }))
        yield* Effect.repeat(store.sql`select from holds`, {
          until: (rows) => rows.length === 2,
          schedule: Schedule.spaced("20 millis")
        })
        server.signal("SIGTERM")
        assert.strictEqual((yield* until(`${admin}/readyz`, ({ status }) => status === 503)).status, 503)
        const answers = yield* Fiber.join(searches)
        assert.deepStrictEqual(
          answers.map(({ status }) => status),
          [200, 200]
        )
        assert.strictEqual(yield* server.ended, 0)
        const log = lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line).message)
        assert.lengthOf(
          log.filter((message) => message === "GET /v1/query 401"),
          20
        )
        assert.lengthOf(
          log.filter((message) => message === "GET /v1/query 200"),
          2
        )
        assert.lengthOf(
          log.filter((message) => /^Worker 2 .* SIGKILL/.test(message)),
          1
        )
        assert.deepStrictEqual(yield* store.ledger.verify, [])
      }),
    timeout
  )

  it.live(
    "a start that cannot succeed ends them all with the one line that says why",
    () =>
      Effect.gen(function* () {
        const port = yield* freePort
        const env = { ...Replica.secrets, WORKERS: "3", PORT: String(port) }
        const server = yield* spawned("src/main.ts", [], {
          ...env,
          DATABASE_URL: `postgres://root@127.0.0.1:${port}/none`
        })
        const { code, stderr } = yield* server.ended
        assert.strictEqual(code, 1)
        assert.match(stderr, /^quarry: The database cannot be reached .*\n$/)
      }),
    timeout
  )
})
