import { Effect, Random, Redacted, Schedule } from "effect"
import { redisServer } from "../../test/support/servers/RedisServer.ts"
import type { Scenario } from "../Scenario.ts"
import * as Audit from "../support/Audit.ts"
import type { Answer } from "../support/Client.ts"
import { Findings } from "../support/Findings.ts"
import * as Load from "../support/Load.ts"
import type { Replica } from "../support/Replica.ts"
import * as Stage from "../support/Stage.ts"
import * as Store from "../support/Store.ts"

const processes = 3
const concurrency = 1
/** Requests per minute of one key with that concurrency. */
const limit = 60 * concurrency
const windowMs = 60_000
/** Maximum duration of a search while Redis fails. Less than a freeze, but enough for a busy machine. */
const slowMs = 3500
const frozenMs = { least: 4000, most: 6000 }
/** A busy machine is sometimes slow. A replica that sees this after each recovery doubles its pauses. */
const backMs = 90_000

const faults = ["killed", "frozen", "flushed", "restarted"] as const

/** A period in which Redis is up, every replica uses it, and it loses no data. */
interface Calm {
  readonly from: number
  readonly to: number
  /** Incremented whenever Redis has lost its data. */
  readonly generation: number
}

/** True if the replica enforces rate limits by itself, according to its log. */
const isLocal = ({ said }: Replica): boolean => {
  const word = said.findLast((line) => /Redis (is (down|up)|has recovered)/.test(line))
  return word?.includes("Redis is down") === true
}

/** Maximum number of admitted requests in any rolling minute. */
const busiestMinute = (admittedAt: ReadonlyArray<number>): number => {
  const times = admittedAt.toSorted((one, other) => one - other)
  let first = 0
  let most = 0
  for (const [index, time] of times.entries()) {
    while ((times[first] ?? time) <= time - windowMs) first++
    most = Math.max(most, index - first + 1)
  }
  return most
}

export const redis: Scenario = {
  name: "redis",
  promise:
    "Redis killed, frozen, flushed and restarted under load: limits hold, nobody waits, every search is charged once",
  rounds: 20,
  run: Effect.fnUntraced(function* ({ rounds }) {
    const findings = yield* Findings
    const server = yield* redisServer
    const { client, replicas, store } = yield* Stage.make({
      replicas: processes,
      env: { REDIS_URL: Redacted.value(server.url()), LOG_LEVEL: "info" }
    })
    const free = yield* Effect.replicateEffect(Store.customer(store, { quota: 1_000_000 }), 2)
    const limited = yield* Store.customer(store, { quota: 1_000_000, concurrency })
    const common = { client, replicas: () => replicas }
    const load = yield* Load.start({ ...common, customers: free, callers: 10, batches: 0.05, rowsOfBatch: 10 })
    const flood = yield* Load.start({ ...common, customers: [limited], callers: 8, batches: 0 })

    const allBack = Effect.sync(() => replicas.every((replica) => !isLocal(replica))).pipe(
      Effect.repeat({ until: (it) => it, schedule: Schedule.spaced("50 millis") }),
      Effect.timeoutOption(backMs)
    )
    const trouble: Record<(typeof faults)[number], Effect.Effect<void>> = {
      killed: Effect.gen(function* () {
        yield* Effect.promise(() => server.stop())
        yield* Effect.sleep(yield* Random.nextIntBetween(300, 3000))
        yield* Effect.promise(() => server.start())
      }),
      frozen: Effect.gen(function* () {
        server.signal("SIGSTOP")
        yield* Effect.sleep(yield* Random.nextIntBetween(frozenMs.least, frozenMs.most))
        server.signal("SIGCONT")
      }),
      flushed: Effect.promise(() => server.cli("FLUSHALL")).pipe(Effect.asVoid),
      restarted: Effect.promise(async () => {
        await server.stop()
        await server.start()
      })
    }

    const calms: Array<Calm> = []
    let generation = 0
    for (let round = 1; round <= rounds; round++) {
      const from = performance.now()
      yield* Effect.sleep(yield* Random.nextIntBetween(500, 2500))
      if (replicas.every((replica) => !isLocal(replica))) calms.push({ from, to: performance.now(), generation })
      const fault = faults[yield* Random.nextIntBetween(0, faults.length - 1)] ?? "killed"
      if (fault !== "frozen") generation++
      const faultAt = performance.now()
      yield* trouble[fault]
      const endedAt = performance.now()
      yield* Effect.sleep("300 millis")
      if ((yield* allBack)._tag === "None")
        yield* findings.violation(`round ${round} (${fault}): replicas do not go back`)
      yield* findings.note(
        `round ${round}: ${fault} for ${Math.round(endedAt - faultAt)} ms, ` +
          `all back ${Math.round(performance.now() - endedAt)} ms later`
      )
    }
    const answers = yield* load.stop
    const flooded = yield* flood.stop
    const admitted = flooded.filter(({ status }) => status !== 429)

    const inside =
      (calm: Calm) =>
      ({ startedAt, endedAt }: Answer) =>
        startedAt >= calm.from && endedAt <= calm.to
    let most = 0
    for (let n = 0; n <= generation; n++) {
      const calm = calms.filter((it) => it.generation === n)
      const times = admitted.filter((answer) => calm.some((it) => inside(it)(answer))).map(({ startedAt }) => startedAt)
      most = Math.max(most, busiestMinute(times))
    }
    yield* findings.note(`while Redis was up at most ${most} of ${limit} were admitted in a minute`)
    if (most > limit) yield* findings.violation(`${most} were admitted in a minute while Redis was up`)

    // Each loss of Redis's data restarts its count, and each replica may also have counted by itself.
    const overall = busiestMinute(admitted.map(({ startedAt }) => startedAt))
    const bound = limit * (processes + Math.min(generation, rounds) + 1)
    yield* findings.note(`over all faults at most ${overall} in a minute, of ${bound} possible`)
    if (overall > bound) yield* findings.violation(`${overall} were admitted in a minute`)

    const refused = answers.filter(({ status }) => status !== 200 && status !== 502 && status !== 504)
    if (refused.length > 0) yield* findings.violation(`a fault of Redis refused requests: ${Audit.tally(refused)}`)
    const waits = [...answers, ...flooded].filter(({ asked, status }) => asked.length === 1 && status !== 504)
    const slow = waits.filter(({ elapsedMs }) => elapsedMs > slowMs)
    const longest = Math.round(waits.reduce((most, { elapsedMs }) => Math.max(most, elapsedMs), 0))
    yield* findings.note(`the slowest search took ${longest} ms`)
    if (slow.length > 0) yield* findings.violation(`${slow.length} searches waited longer than ${slowMs} ms`)

    yield* Audit.holdsEnd(store)
    yield* Audit.audit(store, [...free, limited], [...answers, ...flooded])
  })
}
