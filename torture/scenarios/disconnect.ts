import { connect } from "node:net"
import { Effect, Random, Schedule } from "effect"
import type { Scenario } from "../Scenario.ts"
import * as Audit from "../support/Audit.ts"
import type { Answer } from "../support/Client.ts"
import { Findings } from "../support/Findings.ts"
import * as Load from "../support/Load.ts"
import * as Stage from "../support/Stage.ts"
import * as Store from "../support/Store.ts"
import { openFiles } from "../support/Subprocess.ts"

const clientsOfRound = 200
const atOnce = 50
/** Approximate size of a response to one search. */
const answerBytes = 3000
/** Additional connections to the database and the engine that a busy process may have. */
const spareFiles = 15
/** Exceeds the keep-alive of idle connections to the engine. */
const idleMs = 15_000

interface Departure {
  readonly port: number
  readonly request: Buffer
  /** Bytes of the request to send. */
  readonly sent: number
  /** Bytes of the response to wait for, and for how long. */
  readonly read: number
  readonly patienceMs: number
  /** Disconnects with a reset instead of a close. */
  readonly abrupt: boolean
}

/** Sends part of a request, reads part of the response, and disconnects. Returns the number of bytes read. */
const visit = (departure: Departure): Effect.Effect<number> =>
  Effect.callback((resume) => {
    let read = 0
    const socket = connect(departure.port, "127.0.0.1", () =>
      socket.write(departure.request.subarray(0, departure.sent))
    )
    const leave = () => {
      if (departure.abrupt) socket.resetAndDestroy()
      else socket.destroy()
    }
    const timer = setTimeout(leave, departure.patienceMs)
    socket.on("data", (chunk) => {
      read += chunk.length
      if (read >= departure.read) leave()
    })
    socket.on("error", () => {})
    socket.on("close", () => {
      clearTimeout(timer)
      resume(Effect.succeed(read))
    })
  })

const requestOf = (secret: string, queries: ReadonlyArray<string>, accept: string): Buffer => {
  const head = `host: 127.0.0.1\r\nauthorization: Bearer ${secret}\r\naccept: ${accept}\r\n`
  const [query = ""] = queries
  if (queries.length === 1)
    return Buffer.from(`GET /v1/query?query=${encodeURIComponent(query)} HTTP/1.1\r\n${head}\r\n`)
  const body = JSON.stringify({ queries })
  return Buffer.from(
    `POST /v1/bulk HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  )
}

export const disconnect: Scenario = {
  name: "disconnect",
  promise: `rounds of ${clientsOfRound} clients that leave at random bytes leave no hold and no file open`,
  rounds: 10,
  run: Effect.fnUntraced(function* ({ rounds }) {
    const findings = yield* Findings
    const { client, replicas, store } = yield* Stage.make({ replicas: 1 })
    const [replica] = replicas
    const customer = yield* Store.customer(store, { quota: 1_000_000 })
    if (replica === undefined) return
    const answers: Array<Answer> = []

    const leaver = Effect.gen(function* () {
      const isBatch = yield* Random.nextBoolean
      const queries = yield* Effect.replicateEffect(Load.uniqueQuery, isBatch ? 20 : 1)
      const request = requestOf(customer.secret, queries, (yield* Random.nextBoolean) ? "application/x-ndjson" : "*/*")
      const whole = (yield* Random.next) < 0.7
      const read = yield* visit({
        port: replica.port,
        request,
        sent: whole ? request.length : yield* Random.nextIntBetween(0, request.length - 1),
        read: yield* Random.nextIntBetween(1, answerBytes * queries.length),
        patienceMs: yield* Random.nextIntBetween(0, 1500),
        abrupt: yield* Random.nextBoolean
      })
      // The client knows nothing for certain: each search may have been charged once, or not at all.
      const asked = queries.map((query) => ({ query, outcome: undefined }))
      answers.push({
        status: undefined,
        error: "left",
        creditsUsed: undefined,
        asked,
        elapsedMs: 0,
        startedAt: 0,
        endedAt: 0
      })
      return { whole, read }
    })
    const steady = Effect.gen(function* () {
      const answer = yield* client.search(replica.url, customer.secret, `steady ${answers.length} wait0`)
      answers.push(answer)
      return answer
    })

    yield* steady
    const filesBefore = openFiles(replica.pid)
    for (let round = 1; round <= rounds; round++) {
      const done = yield* Effect.forEach(Array.from({ length: clientsOfRound }), () => leaver, { concurrency: atOnce })
      const answer = yield* steady
      if (answer.status !== 200)
        yield* findings.violation(
          `after round ${round} a search is answered ${answer.status ?? answer.error}: ${replica.said.slice(-5).join("\n")}`
        )
      const midway = done.filter(({ read }) => read > 0).length
      yield* findings.note(
        `round ${round}: ${done.filter(({ whole }) => !whole).length} left inside the request, ${midway} inside the answer; ` +
          `${openFiles(replica.pid)} files open`
      )
    }
    yield* Audit.holdsEnd(store)
    if (!replica.isRunning())
      return yield* findings.violation(`the process has ended: ${replica.said.slice(-5).join("\n")}`)
    const filesAfter = yield* Effect.sync(() => openFiles(replica.pid)).pipe(
      Effect.repeat({ until: (n) => n <= filesBefore + spareFiles, schedule: Schedule.spaced("500 millis") }),
      Effect.timeoutOrElse({ duration: idleMs, orElse: () => Effect.sync(() => openFiles(replica.pid)) })
    )
    yield* findings.note(`${filesBefore} files were open before, ${filesAfter} are after`)
    if (filesAfter > filesBefore + spareFiles) yield* findings.violation("files stay open")
    yield* Audit.audit(store, [customer], answers)
  })
}
