import { Effect, Random, Redacted, Schedule } from "effect"
import { freePort } from "../../test/support/processes/Spawned.ts"
import { redisServer } from "../../test/support/servers/RedisServer.ts"
import type { Scenario } from "../Scenario.ts"
import * as Audit from "../support/Audit.ts"
import type { Answer } from "../support/Client.ts"
import { Findings } from "../support/Findings.ts"
import * as Load from "../support/Load.ts"
import * as Replica from "../support/Replica.ts"
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

interface Watched extends Replica.Replica {
  readonly admin: string
}

/**
 * True if the replica enforces rate limits by itself. Its log does not tell: after a relapse, it says that Redis has
 * recovered only after up to five minutes without another failure, which a busy machine may never have.
 */
const isLocal = ({ admin }: Watched) =>
  Effect.promise(async () => {
    const response = await fetch(`${admin}/metrics`)
    return !/^quarry_redis_away(?:\{.*\})? 0$/m.test(await response.text())
  })

/**
 * Maximum number of admitted requests that were certainly counted within one rolling minute. A server counts a request
 * at some time between its start and its end, which on a busy machine are seconds apart.
 */
const busiestMinute = (admitted: ReadonlyArray<Answer>): number =>
  admitted.reduce((most, { startedAt: from }) => {
    const within = admitted.filter(({ endedAt, startedAt }) => startedAt >= from && endedAt < from + windowMs)
    return Math.max(most, within.length)
  }, 0)

export const redis: Scenario = {
  name: "redis",
  promise:
    "Redis killed, frozen, flushed and restarted under load: limits hold, nobody waits, every search is charged once",
  rounds: 20,
  run: Effect.fnUntraced(function* ({ rounds }) {
    const findings = yield* Findings
    const server = yield* redisServer
    const { client, how, store } = yield* Stage.make({ replicas: 0 })
    const start = Effect.gen(function* () {
      const port = yield* freePort
      const env = { REDIS_URL: Redacted.value(server.url()), ADMIN_PORT: `${port}` }
      const watched: Watched = { ...(yield* Replica.start({ ...how, env })), admin: `http://127.0.0.1:${port}` }
      return watched
    })
    const replicas = yield* Effect.replicateEffect(start, processes, { concurrency: "unbounded" })
    const free = yield* Effect.replicateEffect(Store.customer(store, { quota: 1_000_000 }), 2)
    const limited = yield* Store.customer(store, { quota: 1_000_000, concurrency })
    const common = { client, replicas: () => replicas }
    const load = yield* Load.start({ ...common, customers: free, callers: 6, batches: 0.05, rowsOfBatch: 10 })
    const flood = yield* Load.start({ ...common, customers: [limited], callers: 4, batches: 0 })

    const anyLocal = Effect.map(Effect.forEach(replicas, isLocal, { concurrency: "unbounded" }), (local) =>
      local.includes(true)
    )
    const allBack = anyLocal.pipe(
      Effect.repeat({ while: (it) => it, schedule: Schedule.spaced("250 millis") }),
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
      const until = from + (yield* Random.nextIntBetween(500, 2500))
      // On a busy machine, a replica may take Redis for down and find it again within this time.
      let isCalm = true
      while (performance.now() < until) {
        yield* Effect.sleep("200 millis")
        if (yield* anyLocal) isCalm = false
      }
      if (isCalm) calms.push({ from, to: performance.now(), generation })
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
      most = Math.max(most, busiestMinute(admitted.filter((answer) => calm.some((it) => inside(it)(answer)))))
    }
    yield* findings.note(`while Redis was up at most ${most} of ${limit} were admitted in a minute`)
    if (most > limit) yield* findings.violation(`${most} were admitted in a minute while Redis was up`)

    // Each loss of Redis's data restarts its count, and each replica may also have counted by itself.
    const overall = busiestMinute(admitted)
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
