import { Effect, Exit, Random, Scope } from "effect"
import type { Scenario } from "../Scenario.ts"
import * as Audit from "../support/Audit.ts"
import { cutOff } from "../support/Client.ts"
import { Findings } from "../support/Findings.ts"
import * as Load from "../support/Load.ts"
import * as Replica from "../support/Replica.ts"
import * as Stage from "../support/Stage.ts"
import * as Store from "../support/Store.ts"

const graceSeconds = 20

/**
 * A request was accepted if it is in the process's access log or in the query log. A request that arrives on a
 * connection that is being closed was not accepted, and its caller may retry it.
 */
export const sigterm: Scenario = {
  name: "sigterm",
  promise: "SIGTERM under load leaves no accepted request unanswered, and the process exits with 0",
  rounds: 20,
  run: Effect.fnUntraced(function* ({ rounds }) {
    const findings = yield* Findings
    const { client, how, store } = yield* Stage.make({ replicas: 0 })
    for (let round = 1; round <= rounds; round++) {
      const customers = yield* Effect.replicateEffect(Store.customer(store, { quota: 1_000_000 }), 3)
      const life = yield* Scope.make()
      const replica = yield* Replica.start({
        ...how,
        env: { ...how.env, SHUTDOWN_GRACE: `${graceSeconds} seconds` }
      }).pipe(Scope.provide(life))
      let terminated = false
      const load = yield* Load.start({
        client,
        customers,
        // Callers continue for a moment, because a load balancer has not noticed yet.
        replicas: () => (terminated ? [] : [replica]),
        callers: 24,
        batches: 0.2,
        rowsOfBatch: 20
      })
      yield* Effect.sleep(yield* Random.nextIntBetween(500, 2000))
      const startedAt = performance.now()
      replica.signal("SIGTERM")
      yield* Effect.sleep(yield* Random.nextIntBetween(0, 300))
      terminated = true
      const code = yield* replica.ended.pipe(Effect.timeoutOption(`${graceSeconds + 5} seconds`))
      const tookMs = Math.round(performance.now() - startedAt)
      const answers = yield* load.stop
      if (code._tag === "None")
        yield* findings.violation(`round ${round}: it has not ended ${graceSeconds + 5} s later`)
      else if (code.value !== 0) yield* findings.violation(`round ${round}: it ended with ${code.value}`)
      const log = new Set(
        (yield* store.sql<{ readonly query: string }>`select query from queries`).map(({ query }) => query)
      )
      const dropped = answers.filter(
        ({ asked, error, status }) =>
          status === undefined && (error === cutOff || asked.some(({ query }) => log.has(query)))
      )
      for (const { asked, error } of dropped) {
        yield* findings.violation(`round ${round}: accepted, but not answered (${error}): ${asked.length} searches`)
      }
      const failed = answers.filter(({ status }) => status === 500).length
      if (failed > 0) yield* findings.violation(`round ${round}: ${failed} answered 500`)
      yield* findings.note(
        `round ${round}: exit ${code._tag === "Some" ? code.value : "-"} after ${tookMs} ms; ${Audit.tally(answers)}`
      )
      yield* Scope.close(life, Exit.void)
      yield* Audit.holdsEnd(store)
      yield* Audit.audit(store, customers, answers)
    }
  })
}
