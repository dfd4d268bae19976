import { Effect, Exit, Random, Scope } from "effect"
import type { Scenario } from "../Scenario.ts"
import * as Audit from "../support/Audit.ts"
import { Findings } from "../support/Findings.ts"
import * as Load from "../support/Load.ts"
import * as Replica from "../support/Replica.ts"
import * as Stage from "../support/Stage.ts"
import * as Store from "../support/Store.ts"

export const kill: Scenario = {
  name: "kill",
  promise: "kill -9 of a replica at any moment loses no credit and charges nobody twice",
  rounds: 200,
  run: Effect.fnUntraced(function* ({ rounds, short }) {
    const findings = yield* Findings
    const { client, how, replicas: first, store } = yield* Stage.make({ replicas: 1 })
    const customers = yield* Effect.replicateEffect(Store.customer(store, { quota: 1_000_000, packs: 1_000_000 }), 5)
    const survivor = first[0]
    if (survivor === undefined) return

    let mortal: Replica.Replica | undefined
    const load = yield* Load.start({
      client,
      customers,
      replicas: () => (mortal === undefined ? [survivor] : [survivor, mortal, mortal]),
      callers: 24,
      batches: 0.15
    })
    yield* Effect.forkScoped(Audit.watch(store))

    let abandoned = 0
    for (let round = 1; round <= rounds; round++) {
      const life = yield* Scope.make()
      mortal = yield* Replica.start(how).pipe(Scope.provide(life))
      yield* Effect.sleep(yield* Random.nextIntBetween(20, 1500))
      mortal.signal("SIGKILL")
      yield* mortal.ended
      mortal = undefined
      yield* Scope.close(life, Exit.void)
      const unanswered = load.answers.filter(({ status }) => status === undefined).length
      if (round % 10 === 0)
        yield* findings.note(`${round} kills, ${load.answers.length} requests, ${unanswered} of them cut off`)
      abandoned = unanswered
    }
    const answers = yield* load.stop
    if (abandoned === 0) yield* findings.violation("no request was cut off: the kills came too late to show anything")
    if (short) yield* Audit.endLeases(store)
    yield* Audit.holdsEnd(store)
    yield* Audit.audit(store, customers, answers)
    if (!survivor.isRunning()) yield* findings.violation("the replica that nobody killed has ended")
  })
}
