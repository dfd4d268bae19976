import type { IncomingHttpHeaders } from "node:http"
import { request as startRequest } from "node:https"
import { text as readText } from "node:stream/consumers"
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Redacted, Scope } from "effect"
import { limits } from "../../src/http/listener/limits.ts"
import { command } from "../support/processes/Command.ts"
import { freePort, spawned } from "../support/processes/Spawned.ts"
import { describeWithServers, postgresServer } from "../support/servers/PostgresServer.ts"
import { type Ports, programs, proxy, waitsOf } from "../support/servers/Proxies.ts"
import { json, serve } from "../support/servers/UpstreamServer.ts"

/** The long forms take the minute that a batch may take, and the pause of the database that the drills make. */
const batchSeconds = Number(process.env.QUARRY_TEST_BATCH_SECONDS ?? 5)
const freezeSeconds = Number(process.env.QUARRY_TEST_FREEZE_SECONDS ?? 4)
const timeout = 240_000

const demoOrigin = "https://www.example.com"
const addresses = ["127.0.0.1", "127.0.0.2", "127.0.0.3"] as const

/** A provider that answers `wait 500` after half a second, and everything else at once. */
const slowProvider = serve((received, response) => {
  const waitMs = Number(/wait (\d+)/.exec(received.query.get("q") ?? "")?.[1] ?? 0)
  const engine = received.query.get("engines") ?? ""
  const results = Array.from({ length: 10 }, (_, index) => ({
    url: `https://www.example.com/${index}`,
    engine,
    engines: [engine],
    title: `A title of the row ${index}`,
    content: "A snippet that is long enough for a response that is worth compressing."
  }))
  setTimeout(() => json({ results, unresponsive_engines: [] })(received, response), waitMs)
})

/** Three replicas on one database, as the shipped files expect them, and two keys to search with. */
const makeReplicas = Effect.gen(function* () {
  const database = yield* postgresServer
  const upstream = yield* slowProvider
  const ports: Ports = { public: yield* freePort, admin: yield* freePort }
  const env = {
    DATABASE_URL: Redacted.value(database.url),
    AUTH_SECRET: "a secret for tests, of 32 characters or more",
    KEY_PEPPER: "a pepper for tests of 32 characters or more",
    SEARXNG_URL: upstream.url,
    CACHE_TTL: "0",
    BULK_BUDGET: `${batchSeconds} seconds`,
    TRUSTED_PROXY_HOPS: "1",
    DEMO_ORIGIN: demoOrigin,
    PORT: `${ports.public}`,
    ADMIN_PORT: `${ports.admin}`,
    DRAIN_DELAY: "5 seconds",
    LOG_FORMAT: "json"
  }
  const scope = yield* Effect.scope
  const start = Effect.fnUntraced(function* (address: string) {
    const replica = yield* spawned("src/main.ts", [], { ...env, HOST: address, ADMIN_HOST: address })
    yield* replica.said("Quarry listens at ")
    return replica
  }, Scope.provide(scope))
  const replicas = yield* Effect.forEach(addresses, start, { concurrency: "unbounded" })
  const operate = (...args: ReadonlyArray<string>) =>
    Effect.map(command(env, ...args, "--json"), ({ stdout }) => JSON.parse(stdout))
  const callerWith = Effect.fnUntraced(function* (concurrency: number) {
    const terms = ["--plan", "custom", "--quota", "100000", "--concurrency", `${concurrency}`]
    const { account_id } = yield* operate("account", "create", "--email", `ops${concurrency}@example.org`, ...terms)
    const { secret } = yield* operate("key", "create", "--account", account_id, "--name", "proxies")
    return { authorization: `Bearer ${secret}` }
  })
  return {
    database,
    ports,
    auth: yield* callerWith(100),
    /** Its batches run five rows at a time. */
    slowAuth: yield* callerWith(5),
    /** Ends one replica in order and starts another in its place. */
    replaceOne: Effect.gen(function* () {
      const replica = replicas.shift()
      const address = `${addresses[0]}`
      if (replica === undefined) return
      replica.kill("SIGTERM")
      const { code } = yield* replica.ended
      assert.strictEqual(code, 0)
      replicas.unshift(yield* start(address))
    })
  }
})

class Replicas extends Context.Service<Replicas, Effect.Success<typeof makeReplicas>>()("test/Replicas") {
  static readonly layer = Layer.effect(Replicas, makeReplicas)
}

interface Call {
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
  /** The address on this machine from which the connection comes. */
  readonly from?: string
}

interface Answered {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** One request over TLS on a connection of its own. A connection that breaks has the status 0. */
const call = ({ body, from, headers, path, port }: Call) =>
  Effect.promise(
    () =>
      new Promise<Answered>((resolve) => {
        const options = {
          port,
          path,
          host: "127.0.0.1",
          servername: "localhost",
          rejectUnauthorized: false,
          agent: false,
          method: body === undefined ? "GET" : "POST",
          headers: { host: `localhost:${port}`, "content-type": "application/json", ...headers },
          ...(from === undefined ? {} : { localAddress: from })
        } as const
        const failed = () => resolve({ status: 0, headers: {}, body: "" })
        startRequest(options, (response) => {
          const { headers, statusCode = 0 } = response
          readText(response).then((body) => resolve({ status: statusCode, headers, body }), failed)
        })
          .on("error", failed)
          .end(body === undefined ? undefined : JSON.stringify(body))
      })
  )

const search = (port: number, auth: Record<string, string>, query = "css grid") =>
  call({ port, path: `/v1/query?query=${encodeURIComponent(query)}`, headers: auth })

/** Searches at a steady pace for as long as `during` runs, and the statuses that they got. */
const traffic = Effect.fnUntraced(function* <R>(
  port: number,
  auth: Record<string, string>,
  during: Effect.Effect<unknown, never, R>
) {
  const running: Array<Fiber.Fiber<Answered>> = []
  const callers = yield* Effect.forkChild(
    Effect.forever(
      Effect.gen(function* () {
        running.push(yield* Effect.forkDetach(search(port, auth, "wait 100")))
        yield* Effect.sleep("50 millis")
      })
    )
  )
  yield* during
  yield* Fiber.interrupt(callers)
  return (yield* Effect.forEach(running, (fiber) => Fiber.join(fiber))).map(({ status }) => status)
})

const failuresIn = (statuses: ReadonlyArray<number>) => statuses.filter((status) => status !== 200)

describe("the shipped configurations of proxies", () => {
  for (const program of programs) {
    it(`${program.name}: waits longer than a batch, and drops idle connections before a replica does`, () => {
      const { answer, idle } = waitsOf(program)
      assert.isAtLeast(answer, 75)
      assert.isBelow(idle * 1000, limits.keepAliveTimeoutMs)
    })
  }
})

describeWithServers("three replicas behind a proxy", () => {
  layer(Replicas.layer, { timeout, excludeTestServices: true })("on replicas", (it) => {
    for (const program of programs) {
      program.tool.describe(program.name, () => {
        it.effect(
          "answers searches over TLS, compressed, and streams of agents as they are",
          () =>
            Effect.gen(function* () {
              const { auth, ports } = yield* Replicas
              const port = yield* proxy(program, ports)
              assert.include((yield* search(port, auth)).body, '"organic"')
              const compressed = yield* search(port, { ...auth, "accept-encoding": "gzip" })
              assert.strictEqual(compressed.headers["content-encoding"], "gzip")
              const clientInfo = { name: "test", version: "1" }
              const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo }
              const agent = yield* call({
                port,
                path: "/mcp",
                headers: { ...auth, accept: "text/event-stream, application/json;q=0.5", "accept-encoding": "gzip" },
                body: { jsonrpc: "2.0", id: 1, method: "initialize", params }
              })
              assert.strictEqual(agent.status, 200)
              assert.match(`${agent.headers["content-type"]}`, /^text\/event-stream/)
              assert.include(agent.body, "serverInfo")
            }),
          timeout
        )

        it.effect(
          "R24: counts each client by its own address and ignores forged headers",
          () =>
            Effect.gen(function* () {
              const { ports } = yield* Replicas
              const port = yield* proxy(program, ports)
              // Without Redis each replica counts by itself: three times five requests a minute.
              const statusFrom = (from: string, claimed: number) => {
                const headers = { "x-demo-origin": demoOrigin, "x-forwarded-for": `192.0.2.${claimed}` }
                return Effect.map(call({ port, path: "/v1/query?query=css", headers, from }), ({ status }) => status)
              }
              const client = `127.0.1.${programs.indexOf(program) + 1}`
              const statuses = yield* Effect.forEach(Array.from({ length: 20 }), (_, index) =>
                statusFrom(client, index)
              )
              assert.strictEqual(statuses[0], 200)
              assert.include(statuses, 429)
              assert.strictEqual(yield* statusFrom(`127.0.2.${programs.indexOf(program) + 1}`, 1), 200)
            }),
          timeout
        )

        it.effect(
          `answers a batch that takes all of its ${batchSeconds} seconds, with what it costs`,
          () =>
            Effect.gen(function* () {
              const { ports, slowAuth } = yield* Replicas
              const port = yield* proxy(program, ports)
              // Ten rounds of five rows, which together take a little more than the batch may.
              const rowMs = batchSeconds * 115
              const queries = Array.from({ length: 50 }, (_, index) => `wait ${rowMs} row ${index}`)
              const left = Effect.map(
                call({ port, path: "/v1/me", headers: slowAuth }),
                ({ body }): number => JSON.parse(body).credits_available
              )
              const before = yield* left
              const startedAt = performance.now()
              const batch = yield* call({ port, path: "/v1/bulk", headers: slowAuth, body: { queries } })
              const tookMs = performance.now() - startedAt
              assert.strictEqual(batch.status, 200, batch.body)
              assert.isAbove(tookMs, batchSeconds * 1000 - 100)
              assert.strictEqual(JSON.parse(batch.body).total, 50)
              assert.strictEqual(Number(batch.headers["x-credits-used"]), before - (yield* left))
            }),
          timeout
        )

        it.effect(
          `loses no more than one request in a hundred while Postgres is frozen for ${freezeSeconds} seconds`,
          () =>
            Effect.gen(function* () {
              const { auth, database, ports } = yield* Replicas
              const port = yield* proxy(program, ports)
              const pause = Effect.sleep(`${freezeSeconds} seconds`)
              const statuses = yield* traffic(
                port,
                auth,
                Effect.andThen(
                  Effect.sleep("1 second"),
                  Effect.andThen(database.frozen(pause), Effect.sleep("1 second"))
                )
              )
              const failures = failuresIn(statuses)
              console.log(`${program.name}, Postgres frozen: ${failures.length} of ${statuses.length} failed`)
              assert.isAtMost(failures.length, statuses.length / 100)
            }),
          timeout
        )

        it.effect(
          "loses no request when a replica ends in order and another takes its place",
          () =>
            Effect.gen(function* () {
              const { auth, ports, replaceOne } = yield* Replicas
              const port = yield* proxy(program, ports)
              const statuses = yield* traffic(port, auth, replaceOne)
              assert.deepStrictEqual(failuresIn(statuses), [])
            }),
          timeout
        )
      })
    }
  })
})
