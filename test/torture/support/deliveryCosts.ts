import { fileURLToPath } from "node:url"
import { Deferred, Effect, Queue } from "effect"
import type { CostServer } from "./CostServer.ts"
import type { Costs } from "./Costs.ts"
import { Findings } from "./Findings.ts"
import { levers } from "./hostileReceiver.ts"
import * as Subprocess from "./Subprocess.ts"

/*
 * Holds deliveries to hostile receivers to the budget of a request: what a receiver sends must not keep the server busy.
 */

const program = fileURLToPath(new URL("hostileReceiver.ts", import.meta.url))

/** For the request of a test event and for its delivery. */
const allowedMs = 100

/** A delivery is watched for so long. One that is given a whole core uses at least a quarter of it, on a loaded machine. */
const watchMs = 1_500
const idleMs = 2_000

/** From an event to its delivery. */
const deliveryTimeout = "20 seconds"

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

/** CPU that the server uses while it does nothing, in milliseconds of a second. */
const idleRate = Effect.fnUntraced(function* ({ cpuMs, untilIdle }: Costs) {
  yield* untilIdle
  const [startMs, startedAt] = [cpuMs(), performance.now()]
  yield* Effect.sleep(idleMs)
  return ((cpuMs() - startMs) * 1000) / (performance.now() - startedAt)
})

export const check = Effect.fnUntraced(function* ({ call, cookie }: CostServer, costs: Costs) {
  const findings = yield* Findings
  const receiver = yield* startReceiver
  const rate = yield* idleRate(costs)
  let dearest = { ms: 0, lever: "none" }

  /** What a delivery costs, beside what the server uses anyway. */
  const deliver = Effect.fnUntraced(function* (lever: string) {
    yield* costs.untilIdle
    const [startMs, startedAt] = [costs.cpuMs(), performance.now()]
    const { json } = yield* call("POST", "/v1/webhooks", { url: `${receiver.url}/${lever}` }, cookie)
    yield* call("POST", `/v1/webhooks/${json.id}/test`, undefined, cookie)
    yield* receiver.connection.pipe(Effect.timeout(deliveryTimeout))
    yield* Effect.sleep(watchMs)
    const idle = (rate * (performance.now() - startedAt)) / 1000
    const ms = Math.round(costs.cpuMs() - startMs - idle)
    yield* call("DELETE", `/v1/webhooks/${json.id}`, undefined, cookie)
    return ms
  })

  for (const lever of levers) {
    let least = yield* deliver(lever)
    for (let n = 0; n < repetitions && least > allowedMs; n++) least = Math.min(least, yield* deliver(lever))
    if (least > allowedMs)
      yield* findings.violation(
        `${least} ms of CPU (allowed: ${allowedMs} ms) in a delivery of ${watchMs} ms to a receiver of ${lever}`
      )
    if (least > dearest.ms) dearest = { ms: least, lever }
  }
  yield* findings.note(
    `most CPU of a delivery: ${dearest.ms} ms (allowed: ${allowedMs} ms), to a receiver of ${dearest.lever}`
  )
})
