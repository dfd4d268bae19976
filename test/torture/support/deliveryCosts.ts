import { fileURLToPath } from "node:url"
import { Deferred, Effect, Queue } from "effect"
import type { CostServer } from "./CostServer.ts"
import type { Costs } from "./Costs.ts"
import { Findings } from "./Findings.ts"
import { behaviorNames } from "./hostileReceiver.ts"
import * as Subprocess from "./Subprocess.ts"
import * as Wallet from "./Wallet.ts"

/* Measures the CPU time that the server uses to deliver a test event to a hostile receiver. */

const program = fileURLToPath(new URL("hostileReceiver.ts", import.meta.url))

/** For the two requests that cause a delivery, and the delivery: the budget of three requests. */
const allowedMs = 150

/** From the connection. A delivery that keeps a core busy uses several times `allowedMs`, even on a loaded machine. */
const watchMs = 1_500

/** For the measurement of what the idle server uses. */
const idleMs = 2_000

const connectionTimeout = "20 seconds"

/** A delivery above the budget is repeated up to this many times. It fails if no repetition is within the budget. */
const repetitions = 3

const startReceiver = Effect.gen(function* () {
  const port = yield* Deferred.make<string>()
  const connections = yield* Queue.unbounded<string>()
  yield* Subprocess.start(process.execPath, [program], {
    onLine: (line) => {
      if (Deferred.isDoneUnsafe(port)) Queue.offerUnsafe(connections, line)
      else Deferred.doneUnsafe(port, Effect.succeed(line))
    }
  })
  return { url: `http://127.0.0.1:${yield* Deferred.await(port)}`, connection: Queue.take(connections) }
})

/** Measures the CPU time of the idle server, in milliseconds per second. */
const measureIdle = Effect.fnUntraced(function* ({ cpuMs, untilIdle }: Costs) {
  yield* untilIdle
  const [startMs, startedAt] = [cpuMs(), performance.now()]
  yield* Effect.sleep(idleMs)
  return ((cpuMs() - startMs) * 1000) / (performance.now() - startedAt)
})

/** Checks deliveries to each kind of hostile receiver. */
export const check = Effect.fnUntraced(function* ({ call }: CostServer, costs: Costs) {
  const findings = yield* Findings
  const receiver = yield* startReceiver
  const idleMsPerSecond = yield* measureIdle(costs)
  let highest = { ms: 0, behavior: "none" }

  /** Returns the CPU time of a delivery without that of the idle server. */
  const deliver = Effect.fnUntraced(function* (behavior: string) {
    // An account of its own, because test events are limited for each account.
    const { cookie } = yield* Wallet.newPerson(call)
    yield* costs.untilIdle
    const [startMs, startedAt] = [costs.cpuMs(), performance.now()]
    const { json } = yield* call("POST", "/v1/webhooks", { url: `${receiver.url}/${behavior}` }, cookie)
    yield* call("POST", `/v1/webhooks/${json.id}/test`, undefined, cookie)
    yield* Effect.timeout(receiver.connection, connectionTimeout)
    yield* Effect.sleep(watchMs)
    const ms = costs.cpuMs() - startMs - (idleMsPerSecond * (performance.now() - startedAt)) / 1000
    yield* call("DELETE", `/v1/webhooks/${json.id}`, undefined, cookie)
    return Math.round(ms)
  })

  for (const behavior of behaviorNames) {
    let lowest = yield* deliver(behavior)
    for (let n = 0; n < repetitions && lowest > allowedMs; n++) lowest = Math.min(lowest, yield* deliver(behavior))
    if (lowest > allowedMs) {
      const cost = `${lowest} ms of CPU time in ${watchMs} ms (allowed: ${allowedMs} ms)`
      yield* findings.violation(`a delivery to a receiver of ${behavior}: ${cost}`)
    }
    if (lowest > highest.ms) highest = { ms: lowest, behavior }
  }
  yield* findings.note(
    `most CPU time of a delivery: ${highest.ms} ms (allowed: ${allowedMs} ms), to a receiver of ${highest.behavior}`
  )
})
