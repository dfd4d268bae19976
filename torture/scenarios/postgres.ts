import { Effect, Random } from "effect"
import { postgresServer } from "../../test/support/servers/PostgresServer.ts"
import type { Scenario } from "../Scenario.ts"
import * as Audit from "../support/Audit.ts"
import type { Answer } from "../support/Client.ts"
import { complaints } from "../support/complaints.ts"
import * as DatabaseProxy from "../support/DatabaseProxy.ts"
import { Findings } from "../support/Findings.ts"
import * as Load from "../support/Load.ts"
import * as Stage from "../support/Stage.ts"
import * as Store from "../support/Store.ts"

/** Number of restarts between freezes and silent connections. */
const restartsPerFreeze = 4
const downMsMax = 3000
const freezeMs = { short: 3000, full: 30_000 }
/** Maximum time from the database's return to the first answered search. */
const recoveryMsMax = 10_000
/**
 * Maximum recovery time after connections fall silent, as when a host dies. Nothing reports it, so each pooled
 * connection that is tried costs a timeout.
 */
const silenceMsMax = 110_000

export const postgres: Scenario = {
  name: "postgres",
  promise:
    "Postgres restarted, crashed, frozen and lost under load: every answered search is charged and logged, no other is",
  rounds: 20,
  run: Effect.fnUntraced(function* ({ rounds, short }) {
    const findings = yield* Findings
    const server = yield* postgresServer
    const proxy = yield* DatabaseProxy.start(server.url)
    const { client, replicas, store } = yield* Stage.make({ replicas: 2, database: server.url, way: proxy.url })
    const customers = yield* Effect.replicateEffect(Store.customer(store, { quota: 1_000_000 }), 3)
    const [customer] = customers
    if (customer === undefined) return
    const load = yield* Load.start({ client, customers, replicas: () => replicas, callers: 24, batches: 0.1 })
    let reached: Date | undefined = new Date(0)
    yield* Effect.forkScoped(Audit.watch(store, () => reached))
    const probes: Array<Answer> = []

    const recovered = Effect.fnUntraced(function* (what: string, withinMs = recoveryMsMax) {
      const times = yield* Effect.forEach(replicas, (replica) => Load.recovery({ client, replica, customer }, probes), {
        concurrency: "unbounded"
      })
      yield* findings.note(
        `${what}: answering again after ${times.join(" and ")} ms; so far ${Audit.tally(load.answers)}`
      )
      if (times.some((ms) => ms === undefined || ms > withinMs)) yield* findings.violation(`${what}: too slow`)
      reached = new Date()
    })

    for (let round = 1; round <= rounds; round++) {
      yield* Effect.sleep(yield* Random.nextIntBetween(200, 2000))
      const mode = (yield* Random.nextBoolean) ? "fast" : "immediate"
      const downMs = (yield* Random.nextBoolean) ? 0 : yield* Random.nextIntBetween(0, downMsMax)
      reached = undefined
      yield* server.stop(mode)
      yield* Effect.sleep(downMs)
      yield* server.start
      yield* recovered(`restart ${round} (${mode}, down for ${downMs} ms)`)
      if (round % restartsPerFreeze !== 0) continue
      yield* Effect.sleep(yield* Random.nextIntBetween(200, 2000))
      reached = undefined
      yield* server.freeze
      yield* Effect.sleep(short ? freezeMs.short : freezeMs.full)
      yield* server.thaw
      yield* recovered(`freeze ${round / restartsPerFreeze}`)
      reached = undefined
      yield* recovered(`${yield* proxy.silence} connections fallen silent`, silenceMsMax)
    }
    const answers = [...(yield* load.stop), ...probes]
    if (short) yield* Audit.endLeases(store)
    yield* Audit.holdsEnd(store)
    yield* Audit.audit(store, customers, answers)
    for (const complaint of complaints(replicas)) yield* findings.note(`replicas said: ${complaint}`)
    for (const { isRunning } of replicas) if (!isRunning()) yield* findings.violation("a replica has ended")
  })
}
