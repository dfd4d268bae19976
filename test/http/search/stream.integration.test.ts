import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, Logger, Schedule } from "effect"
import { Ranking } from "../../../src/domain/search/Ranking.ts"
import * as Listener from "../../../src/process/Listener.ts"
import { QueryLog } from "../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { Readiness } from "../../../src/services/operations/Readiness.ts"
import { Providers } from "../../../src/services/providers/Providers.ts"
import { aCaller, type Caller, services } from "../../support/api/Services.ts"
import { type Connection, connect } from "../../support/api/Wire.ts"

const rows = 50

/** Results of 1 MB together, more than a provider may give, so that a few rows fill what a connection takes. */
const large = new Ranking(
  Array.from({ length: 10 }, (_, index) => ({
    position: index + 1,
    title: `Title ${index}`,
    url: `https://www.example.com/${index}`,
    domain: "example.com",
    snippet: "s".repeat(100_000)
  }))
)

const make = Effect.gen(function* () {
  let started = 0
  const search = Effect.suspend(() => {
    started++
    return Effect.as(Effect.sleep("5 millis"), { provider: "test", ranking: large, cached: false })
  })
  const providers = Layer.succeed(Providers, {
    search: () => search,
    check: () => Effect.undefined,
    serves: () => Effect.succeed(true),
    labels: {},
    order: {}
  })
  const log: Array<Record<string, unknown>> = []
  const logger = Logger.map(Logger.formatStructured, ({ annotations }) => void log.push(annotations))
  const context = yield* Layer.build(
    Layer.mergeAll(services(providers, { ttlSeconds: 0 }), NodeHttpServer.layerHttpServices, Readiness.layer).pipe(
      Layer.provideMerge(Logger.layer([logger]))
    )
  )
  return yield* Effect.gen(function* () {
    const { port } = yield* Listener.make({
      host: "127.0.0.1",
      port: 0,
      grace: Duration.seconds(5),
      drainDelay: Duration.zero
    })
    const caller = yield* aCaller({ plan: "custom", quota: 1000, concurrency: 5 })
    const spent = Effect.gen(function* () {
      const ledger = yield* Ledger
      const { used } = yield* ledger.allowance(caller.account)
      assert.deepStrictEqual(yield* ledger.verify, [])
      const entries = yield* Effect.flatMap(QueryLog, (queries) => queries.recent(caller.account.id, 100))
      return { used, logged: entries.length }
    }).pipe(Effect.provideContext(context))
    const accessLine = Effect.sync(() => log.find((line) => line.route === "/v1/bulk")).pipe(
      Effect.repeat({ until: (line) => line !== undefined, schedule: Schedule.spaced("20 millis") })
    )
    return { port, caller, spent, accessLine, started: () => started }
  }).pipe(Effect.provideContext(context))
})

const post = (client: Connection, { secret }: Caller) => {
  const body = JSON.stringify({ queries: Array.from({ length: rows }, (_, row) => `row ${row}`) })
  const head = [
    "POST /v1/bulk HTTP/1.1",
    "Host: quarry.test",
    `Authorization: Bearer ${secret}`,
    "Accept: application/x-ndjson",
    "Content-Type: application/json",
    `Content-Length: ${body.length}`
  ]
  return client.send(`${head.join("\r\n")}\r\n\r\n${body}`)
}

const until = (is: () => boolean) =>
  Effect.repeat(Effect.sync(is), { until: (it) => it, schedule: Schedule.spaced("5 millis") })

/** Waits until a figure has been the same for half a second. */
const settled = (figure: () => number) =>
  Effect.gen(function* () {
    for (let last = -1; last !== figure(); yield* Effect.sleep("500 millis")) last = figure()
    return figure()
  })

describe("R46: a streamed batch on a connection", () => {
  it.live("starts no row while its client does not read, and goes on when it reads", () =>
    Effect.gen(function* () {
      const { accessLine, caller, port, spent, started } = yield* make
      const client = yield* connect(port)
      yield* client.pause
      yield* post(client, caller)
      const atRest = yield* settled(started)
      assert.isAbove(atRest, 0)
      assert.isBelow(atRest, rows)
      assert.strictEqual((yield* spent).logged, atRest, "each row that ran is settled, and waits for nobody")
      yield* client.resume
      yield* until(() => client.raw().includes('"type":"summary"'))
      assert.deepStrictEqual(yield* spent, { used: rows, logged: rows })
      assert.deepInclude(yield* accessLine, { status: 200, outcome: "ok", credits: rows, rows, rows_failed: 0 })
    })
  )

  it.live("R21: stops rows that have not started when its client leaves, and the log says that it was cut", () =>
    Effect.gen(function* () {
      const { accessLine, caller, port, spent, started } = yield* make
      const client = yield* connect(port)
      yield* post(client, caller)
      yield* until(() => client.raw().includes('"type":"row"'))
      yield* client.abort
      const line = yield* accessLine
      const dispatched = started()
      assert.isBelow(dispatched, rows)
      assert.deepInclude(line, { status: 200, outcome: "cut", credits: dispatched })
      assert.deepStrictEqual(yield* spent, { used: dispatched, logged: dispatched })
    })
  )
})
