import { Effect, Random, Schedule } from "effect"
import { freePort } from "../../test/support/processes/Spawned.ts"
import { childrenOf } from "../../test/support/processes/workers.ts"
import type { Scenario } from "../Scenario.ts"
import * as Audit from "../support/Audit.ts"
import { Findings } from "../support/Findings.ts"
import * as Load from "../support/Load.ts"
import * as Stage from "../support/Stage.ts"
import * as Store from "../support/Store.ts"

const count = 2

/** Maximum time until a killed worker is replaced, on a busy machine. */
const patience = "2 minutes"

export const workers: Scenario = {
  name: "workers",
  promise: "kill -9 of workers behind one port, and of their supervisor, loses no credit and leaves no process behind",
  rounds: 100,
  run: Effect.fnUntraced(function* ({ rounds, short }) {
    const findings = yield* Findings
    const adminPort = yield* freePort
    const env = { WORKERS: String(count), ADMIN_PORT: String(adminPort) }
    const { client, replicas, store } = yield* Stage.make({ replicas: 1, env })
    const [server] = replicas
    if (server === undefined) return
    const customers = yield* Effect.replicateEffect(Store.customer(store, { quota: 1_000_000, packs: 1_000_000 }), 5)
    const load = yield* Load.start({ client, customers, replicas: () => [server], callers: 24, batches: 0.15 })
    yield* Effect.forkScoped(Audit.watch(store))

    let killed = 0
    for (let round = 1; round <= rounds; round++) {
      yield* Effect.repeat(serving(adminPort), {
        until: (workers) => workers === count,
        schedule: Schedule.spaced("50 millis")
      }).pipe(Effect.timeout(patience))
      yield* Effect.sleep(yield* Random.nextIntBetween(20, 1500))
      const pid = childrenOf(server.pid)[yield* Random.nextIntBetween(0, count, { halfOpen: true })]
      if (pid === undefined) continue
      process.kill(pid, "SIGKILL")
      killed++
      yield* Effect.repeat(serving(adminPort), {
        while: (workers) => workers === count,
        schedule: Schedule.spaced("20 millis")
      })
    }
    const last = childrenOf(server.pid)
    server.signal("SIGKILL")
    yield* server.ended
    const answers = yield* load.stop
    const cutOff = answers.filter(({ status }) => status === undefined).length
    yield* findings.note(`${killed} workers killed, ${answers.length} requests, ${cutOff} of them cut off`)
    if (answers.every(({ status }) => status !== 200)) yield* findings.violation("no request was answered")
    yield* Effect.sync(() => last.filter(isRunning)).pipe(
      Effect.repeat({ until: (pids) => pids.length === 0, schedule: Schedule.spaced("50 millis") }),
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () => findings.violation("workers outlived their supervisor")
      })
    )
    if (short) yield* Audit.endLeases(store)
    // No process of this deployment is left to sweep.
    yield* store.ledger.sweep
    if (short) yield* Audit.holdsEnd(store)
    yield* Audit.audit(store, customers, answers)
  })
}

/** Number of workers that accept requests, according to the supervisor. */
const serving = (adminPort: number) =>
  Effect.promise(async (): Promise<number> => {
    const response = await fetch(`http://127.0.0.1:${adminPort}/readyz`)
    return JSON.parse(await response.text()).workers.serving
  })

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
