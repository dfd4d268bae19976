import { Clock, Deferred, Duration, Effect, Layer, Stdio } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { OperatorError } from "../../domain/OperatorError.ts"
import { lasting, type Metrics, merge, parse } from "../../http/admin/exposition.ts"
import * as WorkersAdmin from "../../http/admin/WorkersAdmin.ts"
import * as Ids from "../../layers/Ids.ts"
import * as FileDescriptors from "../../layers/telemetry/FileDescriptors.ts"
import * as ProcessMetrics from "../../layers/telemetry/ProcessMetrics.ts"
import { prometheusName } from "../../services/Instrument.ts"
import { AppConfig } from "../../settings/Settings.ts"
import { AlreadySaid } from "../exit.ts"
import { LogFormat } from "../Logging.ts"
import * as Signals from "../Signals.ts"
import { ask, configure, type End, isServing, launch, type WorkerProcess } from "./WorkerProcess.ts"

/** A worker was ended by somebody else before it could serve. */
class WorkerNotStarted extends OperatorError("WorkerNotStarted") {}

/** The pause before another worker takes a place. It doubles with each worker that does not last. */
const minPauseMs = 1_000
const maxPauseMs = 30_000

/** The life of a worker after which the next pause is the shortest again. */
const stableMs = 60_000

/** The fewest connections to Postgres of a worker: its reads must not wait for its writes. */
const minPoolSize = 3

/** Added to the time for a shutdown, so that workers end by their own limit before this process takes them with it. */
const endingReserve = Duration.seconds(2)

interface State {
  readonly count: number
  /** The variables in which workers differ from this process. */
  readonly env: Readonly<Record<string, string>>
  /** The latest worker of each place. */
  readonly workers: Map<number, WorkerProcess>
  /** Done when a worker listens. The others start then, on a database that it has migrated. */
  readonly first: Deferred.Deferred<void>
  /** The counts of workers that have ended. */
  past: Metrics
  isEnding: boolean
}

const serving = ({ workers }: State): ReadonlyArray<WorkerProcess> => Array.from(workers.values()).filter(isServing)

/** A worker that ends by itself has said why. */
const notStarted = (number: number, { signal }: End) =>
  signal === null
    ? new AlreadySaid()
    : new WorkerNotStarted({ message: `Worker ${number} was ended by ${signal} before it listened.` })

/**
 * Starts a worker and waits for its end. Fails where it could not start and no other serves, and where the first of its
 * place ends by itself before it listens: then the settings are wrong.
 */
const runWorker = Effect.fnUntraced(function* (state: State, number: number, isReplacement: boolean) {
  const it = yield* launch(number, state.env)
  state.workers.set(number, it)
  yield* Effect.raceFirst(Deferred.await(it.ready), Deferred.await(it.ended))
  const hasListened = Deferred.isDoneUnsafe(it.ready)
  if (hasListened) yield* Deferred.succeed(state.first, undefined)
  const end = yield* Deferred.await(it.ended)
  state.past = merge([state.past, lasting(it.metrics)])
  const mayGoOn = serving(state).length > 0 && (isReplacement || end.signal !== null)
  if (!hasListened && !mayGoOn) return yield* notStarted(number, end)
  const how = end.signal === null ? `with code ${end.code}` : `by ${end.signal}`
  return `Worker ${number} (process ${it.worker.process.pid}) has ended ${how}.`
})

/** Keeps a worker in a place, for ever. */
const keep = Effect.fnUntraced(function* (state: State, number: number) {
  if (number > 1) yield* Deferred.await(state.first)
  let pauseMs = minPauseMs
  for (let isReplacement = false; ; isReplacement = true) {
    const startedAt = yield* Clock.currentTimeMillis
    const ended = yield* runWorker(state, number, isReplacement)
    if ((yield* Clock.currentTimeMillis) - startedAt >= stableMs) pauseMs = minPauseMs
    const pause = Duration.millis(pauseMs)
    yield* Effect.logWarning(`${ended} Another takes its place in ${Duration.format(pause)}.`)
    yield* Effect.sleep(pause)
    pauseMs = Math.min(2 * pauseMs, maxPauseMs)
  }
})

/** Passes the signal on, and waits until all workers have answered what they accepted. */
const endAll = Effect.fnUntraced(function* (state: State) {
  state.isEnding = true
  const signal = (yield* Signals.FirstSignal)() ?? "SIGTERM"
  const ends = yield* Effect.forEach(
    state.workers.values(),
    ({ ended, worker }) => {
      worker.process.kill(signal)
      return Deferred.await(ended)
    },
    { concurrency: "unbounded" }
  )
  // A worker that cut requests off has said so.
  if (ends.some(({ code }) => code !== 0)) return yield* new AlreadySaid()
})

/** The workers for the private listener. One that does not answer is counted by its last metrics. */
const viewOf = (state: State): WorkersAdmin.Workers => ({
  count: state.count,
  serving: () => serving(state).length,
  listener: () => (state.isEnding ? "draining" : Deferred.isDoneUnsafe(state.first) ? "serving" : "starting"),
  ask: (path) =>
    Effect.gen(function* () {
      const replies = yield* Effect.forEach(serving(state), (it) => ask(it, path), { concurrency: "unbounded" })
      return replies.flatMap(({ number, reply }) =>
        reply === undefined ? [] : [{ worker: number, status: reply.status, body: JSON.parse(reply.text) as unknown }]
      )
    }),
  metrics: Effect.gen(function* () {
    const workers = serving(state)
    yield* Effect.forEach(
      workers,
      (it) =>
        Effect.map(ask(it, "/metrics"), ({ reply }) => {
          if (reply?.status === 200) it.metrics = parse(reply.text)
        }),
      { concurrency: "unbounded" }
    )
    const own = parse(yield* PrometheusMetrics.format({ metricNameMapper: prometheusName }))
    return [...workers.map(({ metrics }) => metrics), own, state.past]
  })
})

const warnOfSeparateLimits = Effect.fnUntraced(function* (count: number) {
  if ((yield* AppConfig).redisUrl !== undefined) return
  yield* Effect.logWarning(
    `There are ${count} workers and no REDIS_URL: each limits, paces and caches by itself, so that callers may get up to ` +
      `${count} times their limits.`
  )
})

const signals = Layer.unwrap(
  Effect.map(AppConfig, ({ shutdownGrace }) =>
    Signals.layer({ grace: Duration.sum(shutdownGrace, endingReserve), endsAtSecond: true })
  )
)

/** Runs `count` workers behind one port until it is interrupted, and the private listener for all of them. */
export const supervise = (count: number) =>
  Effect.gen(function* () {
    const { adminHost, adminHosts, adminPort, databasePoolSize } = yield* AppConfig
    yield* configure(yield* Effect.flatMap(Stdio.Stdio, ({ stdoutIsTerminal }) => stdoutIsTerminal))
    const state: State = {
      count,
      env: {
        DATABASE_POOL_SIZE: String(Math.max(minPoolSize, Math.floor(databasePoolSize / count))),
        // A worker's own stdout may be a pipe to this process where this one's is a terminal.
        LOG_FORMAT: yield* LogFormat
      },
      workers: new Map(),
      first: Deferred.makeUnsafe(),
      past: new Map(),
      isEnding: false
    }
    yield* Layer.build(WorkersAdmin.layer({ host: adminHost, port: adminPort, hosts: adminHosts }, viewOf(state)))
    yield* warnOfSeparateLimits(count)
    const places = Array.from({ length: count }, (_, index) => keep(state, index + 1))
    return yield* Effect.all(places, { concurrency: "unbounded", discard: true }).pipe(
      Effect.onExit(() => endAll(state))
    )
  }).pipe(
    Effect.scoped,
    Effect.provide(Layer.mergeAll(signals, Ids.layer, ProcessMetrics.layer, FileDescriptors.layer))
  )
