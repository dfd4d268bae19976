import { readFileSync } from "node:fs"
import { type RequestOptions, request as send } from "node:http"
import { Clock, Effect, Fiber } from "effect"
import { serve } from "../../test/support/servers/UpstreamServer.ts"
import type { Scenario } from "../Scenario.ts"
import * as Audit from "../support/Audit.ts"
import type { Answer } from "../support/Client.ts"
import { Findings } from "../support/Findings.ts"
import * as Replica from "../support/Replica.ts"
import * as Stage from "../support/Stage.ts"
import * as Store from "../support/Store.ts"
import type { Subprocess } from "../support/Subprocess.ts"

const streamsAtOnce = 200
const rowsOfBatch = 50
const minute = 60_000
/** Maximum memory growth after the first third of the run, when everything that is retained exists. */
const maxGrowth = 1.25
/**
 * Maximum time from the engine's first response to the first row at the client. On a busy machine, three times a
 * search's.
 */
const maxFirstRowMs = 20
const engineMs = 200

const residentMiB = ({ pid }: Subprocess): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024

/** An engine, and the times of its first response to each batch. */
const punctualEngine = Effect.gen(function* () {
  const answeredAt = new Map<string, number>()
  const { url } = yield* serve(({ query }, response) => {
    const text = query.get("q") ?? ""
    const [batch = ""] = text.split(" ")
    setTimeout(() => {
      if (!answeredAt.has(batch)) answeredAt.set(batch, performance.now())
      const results = Array.from({ length: 10 }, (_, n) => ({
        url: `https://example.test/${n}`,
        title: `Title ${n}`,
        content: "A snippet of a usual length, which says in about two lines what the page is about.",
        engine: "google"
      }))
      response.writeHead(200, { "content-type": "application/json" })
      response.end(JSON.stringify({ query: text, results, unresponsive_engines: [] }))
    }, engineMs)
  })
  return { url, answeredAt }
})

/** Returns the time at which a text appears in the response, which is read to its end. */
const readAt = (options: RequestOptions, body: string | undefined, text: string): Effect.Effect<number> =>
  Effect.callback((resume) => {
    let received = ""
    let foundAt: number | undefined
    const request = send({ host: "127.0.0.1", ...options }, (response) => {
      response.setEncoding("utf8").on("data", (chunk: string) => {
        received += chunk
        if (foundAt === undefined && received.includes(text)) foundAt = performance.now()
      })
      response.on("close", () =>
        resume(foundAt === undefined ? Effect.die(new Error(received)) : Effect.succeed(foundAt))
      )
    })
    request.on("error", (error) => resume(Effect.die(error))).end(body)
  })

const firstRowAt = (port: number, secret: string, batch: string) =>
  readAt(
    {
      port,
      path: "/v1/bulk",
      method: "POST",
      headers: {
        authorization: `Bearer ${secret}`,
        accept: "application/x-ndjson",
        "content-type": "application/json"
      }
    },
    JSON.stringify({ queries: Array.from({ length: rowsOfBatch }, (_, row) => `${batch} ${row}`) }),
    '"type":"row"'
  )

const answerAt = (port: number, secret: string, search: string) =>
  readAt(
    { port, path: `/v1/query?query=${search}`, headers: { authorization: `Bearer ${secret}` } },
    undefined,
    '"results"'
  )

/**
 * Measures milliseconds from the engine's first response to the first row of a batch, and to the response of a single
 * search, alternating on one process so that other work on the machine slows both.
 */
const firstRows = Effect.fnUntraced(function* (how: Replica.ReplicaOptions, secret: string, count: number) {
  const engine = yield* punctualEngine
  const { port } = yield* Replica.start({ ...how, engine: engine.url })
  const [rows, searches]: [Array<number>, Array<number>] = [[], []]
  const since = (at: number, name: string) => at - (engine.answeredAt.get(name) ?? 0)
  for (let n = 0; n < warmUp + count; n++) {
    const row = since(yield* firstRowAt(port, secret, `batch${n}`), `batch${n}`)
    const search = since(yield* answerAt(port, secret, `single${n}`), `single${n}`)
    if (n < warmUp) continue
    rows.push(row)
    searches.push(search)
  }
  return { rows, searches }
})

const medianOf = (values: ReadonlyArray<number>): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0

/** Batches run by a new process before it is measured, so that Node compiles hot code. */
const warmUp = 5

export const streams: Scenario = {
  name: "streams",
  promise: `${streamsAtOnce} streamed batches at once for a minute take no more and more memory, and a first row is there ${maxFirstRowMs} ms after the engine's answer`,
  rounds: 1,
  run: Effect.fnUntraced(function* ({ rounds, short }) {
    const findings = yield* Findings
    const { client, how, replicas, store } = yield* Stage.make({ replicas: 1 })
    const [replica] = replicas
    if (replica === undefined) return
    const customers = yield* Effect.replicateEffect(Store.customer(store, { quota: 1_000_000 }), short ? 2 : 10)

    const { secret } = yield* Store.customer(store, { quota: 1_000_000, concurrency: 10 })
    const { rows, searches } = yield* Effect.scoped(firstRows(how, secret, short ? 10 : 30))
    const [row, search] = [medianOf(rows), medianOf(searches)]
    yield* findings.note(
      `after the engine's answer: first row ${row.toFixed(1)} ms, a single search ${search.toFixed(1)} ms ` +
        `(medians of ${rows.length}; first rows from ${Math.min(...rows).toFixed(1)} ms)`
    )
    if (row > Math.max(maxFirstRowMs, 3 * search)) yield* findings.violation("the first row comes late")

    const answers: Array<Answer> = []
    const durationMs = (short ? minute / 6 : minute) * rounds
    const until = (yield* Clock.currentTimeMillis) + durationMs
    let asked = 0
    const caller = (n: number) =>
      Effect.gen(function* () {
        while ((yield* Clock.currentTimeMillis) < until) {
          const batch = ++asked
          const queries = Array.from(
            { length: rowsOfBatch },
            (_, row) => `stream ${batch} ${row} wait${100 + row * 10}`
          )
          const { secret = "" } = customers[n % customers.length] ?? {}
          answers.push(yield* client.batch(replica.url, secret, queries, "lines"))
        }
      })
    const callers = yield* Effect.forkChild(
      Effect.forEach(
        Array.from({ length: streamsAtOnce }, (_, n) => n),
        caller,
        { concurrency: "unbounded" }
      )
    )
    const resident: Array<number> = []
    for (let second = 0; second < durationMs / 1000; second++) {
      yield* Effect.sleep("1 second")
      resident.push(residentMiB(replica))
    }
    yield* Fiber.join(callers)
    const third = Math.floor(resident.length / 3)
    const mean = (part: ReadonlyArray<number>) => part.reduce((sum, it) => sum + it, 0) / part.length
    const [early, late] = [mean(resident.slice(third, 2 * third)), mean(resident.slice(2 * third))]
    yield* findings.note(
      `${answers.length} batches; resident ${early.toFixed(0)} MiB in the second third, ${late.toFixed(0)} in the last; ` +
        `most ${Math.max(...resident).toFixed(0)}`
    )
    if (!short && late > early * maxGrowth) yield* findings.violation("memory grows")
    const failed = answers.filter(({ status }) => status !== 200).length
    if (failed > 0)
      yield* findings.violation(
        `${failed} were not answered whole: ${Audit.tally(answers)}; ${replica.said.slice(-3).join("\n")}`
      )
    yield* Audit.holdsEnd(store)
    yield* Audit.verified(store)
  })
}
