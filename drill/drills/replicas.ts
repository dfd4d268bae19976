import { Effect, Exit, Scope } from "effect"
import { fakeClock } from "../../test/support/processes/faketime.ts"
import { Findings } from "../../torture/support/Findings.ts"
import type { Drill } from "../Drill.ts"
import * as Deployment from "../support/Deployment.ts"
import type { Front } from "../support/Front.ts"
import { during } from "../support/Observation.ts"

const killed: Drill = {
  name: "replica-killed",
  failure: "A replica ended by SIGKILL, as where memory is short",
  needs: { haproxy: "haproxy" },
  run: Effect.fnUntraced(function* ({ short }) {
    const deployment = yield* Deployment.make({ database: yield* Deployment.postgres, front: "haproxy" })
    const failure = Effect.gen(function* () {
      const [replica] = deployment.replicas
      replica.signal("SIGKILL")
      yield* replica.ended
    })
    return yield* during(deployment, { failureSeconds: 2, afterSeconds: short ? 4 : 10, short }, failure)
  })
}

/** DRAIN_DELAY is for this: the proxy sees that a replica is not ready before its port closes (R54). */
const rolled = (front: Front): Drill => ({
  name: `replicas-rolled-${front}`,
  failure: `SIGTERM to each replica in turn and a new one in its place, through ${front}`,
  mayFail: 0,
  needs: { [front]: front },
  run: Effect.fnUntraced(function* ({ short }) {
    const deployment = yield* Deployment.make({ database: yield* Deployment.postgres, front })
    const life = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const codes: Array<unknown> = []
    const failure = Effect.forEach(
      short ? deployment.replicas.slice(0, 1) : deployment.replicas,
      Effect.fnUntraced(function* (replica) {
        replica.signal("SIGTERM")
        codes.push(yield* replica.ended)
        yield* deployment.startOn(replica.host).pipe(Scope.provide(life))
      }),
      { discard: true }
    )
    const seconds = (short ? 1 : 3) * 15
    const observation = yield* during(deployment, { failureSeconds: seconds, afterSeconds: 3, short }, failure)
    return { ...observation, notes: [`exit codes ${codes.join(", ")}`] }
  })
})

/** More than a month, so that the replica believes to be in the next period on any day of the year. */
const aheadDays = 40

const ahead: Drill = {
  name: "clock-ahead",
  failure: `The clock of one replica is ${aheadDays} days ahead`,
  mayFail: 0,
  needs: { faketime: "faketime", haproxy: "haproxy" },
  run: Effect.fnUntraced(function* ({ short }) {
    const findings = yield* Findings
    const deployment = yield* Deployment.make({ database: yield* Deployment.postgres, front: "haproxy" })
    const { replicas, startOn, store } = deployment
    const periods = Effect.map(
      store.sql`select scope, period_start, period_end from allowances order by 1, 2`,
      (rows) => JSON.stringify(rows)
    )
    const failure = Effect.gen(function* () {
      const before = yield* periods
      const [replica] = replicas
      replica.signal("SIGTERM")
      yield* replica.ended
      yield* startOn(replica.host, fakeClock(`+${aheadDays}d`))
      yield* Effect.sleep(short ? "3 seconds" : "15 seconds")
      if ((yield* periods) !== before) yield* findings.violation("the replica opened another period")
    })
    return yield* during(deployment, { failureSeconds: short ? 15 : 30, afterSeconds: 3, short }, failure)
  })
}

export const replicaDrills: ReadonlyArray<Drill> = [killed, rolled("haproxy"), rolled("nginx"), rolled("caddy"), ahead]
