import { Clock, Deferred, Duration, Effect, Layer, Stdio } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { OperatorError } from "../../domain/OperatorError.ts"
import { lasting, type Metrics, merge, parse } from "../../http/admin/exposition.ts"
import * as WorkersAdmin from "../../http/admin/WorkersAdmin.ts"
import * as Ids from "../../layers/Ids.ts"
import * as FileDescriptors from "../../layers/telemetry/FileDescriptors.ts"
import * as ProcessMetrics from "../../layers/telemetry/ProcessMetrics.ts"
import { prometheusName } from "../../services/telemetry/Instrument.ts"
import { AppConfig } from "../../settings/Settings.ts"
import { LogFormat } from "../Logging.ts"
import { AlreadySaid } from "../lifecycle/exit.ts"
import * as Signals from "../lifecycle/Signals.ts"
import { ask, configure, type End, isServing, launch, type WorkerProcess } from "./WorkerProcess.ts"

class WorkerNotStarted extends OperatorError("WorkerNotStarted") {}

/** Doubles with each worker that fails early. */
const minPauseMs = 1_000
const maxPauseMs = 30_000

/** A worker that lived this long resets the backoff. */
const stableMs = 60_000

/** Per worker: one connection for operators, and enough that reads do not wait for writes. */
const minPoolSize = 4

/** Lets workers reach their own limit before the supervisor kills them. */
const endingReserve = Duration.seconds(2)

interface State {
  readonly count: number
  readonly env: Readonly<Record<string, string>>
  readonly workers: Map<number, WorkerProcess>
  /** Done when the first worker listens and has migrated the database. The others start then. */
  readonly first: Deferred.Deferred<void>
  past: Metrics
  isEnding: boolean
}

const serving = ({ workers }: State): ReadonlyArray<WorkerProcess> => Array.from(workers.values()).filter(isServing)

/** A worker that ends by itself has already printed why. */
const notStarted = (number: number, { signal }: End) =>
  signal === null
    ? new AlreadySaid()
    : new WorkerNotStarted({ message: `Worker ${number} was killed by ${signal} before it listened.` })

/** Fails if the worker never listened, unless others serve and this one was killed or is itself a replacement. */
const runWorker = Effect.fnUntraced(function* (state: State, number: number, isReplacement: boolean) {
  const launched = yield* launch(number, state.env)
  state.workers.set(number, launched)
  yield* Effect.raceFirst(Deferred.await(launched.ready), Deferred.await(launched.ended))
  const hasListened = Deferred.isDoneUnsafe(launched.ready)
  if (hasListened) yield* Deferred.succeed(state.first, undefined)
  const end = yield* Deferred.await(launched.ended)
  state.past = merge([state.past, lasting(launched.metrics)])
  const canReplace = serving(state).length > 0 && (isReplacement || end.signal !== null)
  if (!hasListened && !canReplace) return yield* notStarted(number, end)
  const how = end.signal === null ? `with code ${end.code}` : `by ${end.signal}`
  return `Worker ${number} (process ${launched.worker.process.pid}) has ended ${how}.`
})

const keep = Effect.fnUntraced(function* (state: State, number: number) {
  if (number > 1) yield* Deferred.await(state.first)
  let pauseMs = minPauseMs
  for (let isReplacement = false; ; isReplacement = true) {
    const startedAt = yield* Clock.currentTimeMillis
    const ended = yield* runWorker(state, number, isReplacement)
    if ((yield* Clock.currentTimeMillis) - startedAt >= stableMs) pauseMs = minPauseMs
    const pause = Duration.millis(pauseMs)
    yield* Effect.logWarning(`${ended} It is replaced in ${Duration.format(pause)}.`)
    yield* Effect.sleep(pause)
    pauseMs = Math.min(2 * pauseMs, maxPauseMs)
  }
})

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
  // A worker that cut off requests has already printed that.
  if (ends.some(({ code }) => code !== 0)) return yield* new AlreadySaid()
})

/** A worker that does not respond keeps its last metrics. */
const viewOf = (state: State): WorkersAdmin.Workers => ({
  count: state.count,
  serving: () => serving(state).length,
  listener: () => (state.isEnding ? "draining" : Deferred.isDoneUnsafe(state.first) ? "serving" : "starting"),
  ask: (path) =>
    Effect.gen(function* () {
      const replies = yield* Effect.forEach(serving(state), (worker) => ask(worker, path), { concurrency: "unbounded" })
      return replies.flatMap(
        ({ number, reply }): ReadonlyArray<WorkersAdmin.WorkerReply> =>
          reply === undefined ? [] : [{ worker: number, status: reply.status, body: JSON.parse(reply.text) }]
      )
    }),
  metrics: Effect.gen(function* () {
    const workers = serving(state)
    yield* Effect.forEach(
      workers,
      (worker) =>
        Effect.map(ask(worker, "/metrics"), ({ reply }) => {
          if (reply?.status === 200) worker.metrics = parse(reply.text)
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
    `There are ${count} workers and no REDIS_URL. Each has its own rate limits, pacing, and cache, so callers may get up to ` +
      `${count} times their limits.`
  )
})

const signals = AppConfig.layerFrom(({ shutdownGrace }) =>
  Signals.layer({ grace: Duration.sum(shutdownGrace, endingReserve), endsAtSecond: true })
)

export const supervise = (count: number) =>
  Effect.gen(function* () {
    const { adminHost, adminHosts, adminPort, databasePoolSize } = yield* AppConfig
    yield* configure(yield* Effect.flatMap(Stdio.Stdio, ({ stdoutIsTerminal }) => stdoutIsTerminal))
    const state: State = {
      count,
      env: {
        DATABASE_POOL_SIZE: String(Math.max(minPoolSize, Math.floor(databasePoolSize / count))),
        // The stdout of a worker can be a pipe even if that of this process is a terminal.
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
