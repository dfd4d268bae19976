import { Clock, Duration, Effect, Layer, Metric, Schedule } from "effect"
import type { PlanTable } from "../../domain/credits/Plan.ts"
import { formatAddress } from "../../domain/net/address.ts"
import { namesOf } from "../../domain/providers/providerNames.ts"
import { digestOf, Plans } from "../credits/Plans.ts"
import { DatabaseLane } from "../DatabaseLane.ts"
import type { ProviderState } from "../providers/ProviderMonitor.ts"
import { ProviderPauses } from "../providers/ProviderPauses.ts"
import { ProviderStates } from "../providers/ProviderStates.ts"
import type { RerankState } from "../providers/Reranker.ts"
import { databaseConnections, databaseMax, databasePending, redisAway } from "../telemetry/Metrics.ts"
import { type BoundAddress, Readiness } from "./Readiness.ts"
import { type ProviderSight, ReplicaId, Replicas, type Vitals } from "./Replicas.ts"

export const heartbeatInterval = Duration.seconds(5)

/** Limits how long shutdown waits for the replica's removal. */
const maxLeave = Duration.seconds(1)

/** Keeps a heartbeat small if the provider file is long. */
const maxProviders = 100

export interface HeartbeatOptions {
  readonly host: string
  /** The address at which other machines reach the listener. */
  readonly reachable: (bound: BoundAddress) => BoundAddress
  readonly version: string
  readonly commit: string | undefined
  readonly usesRedis: boolean
}

const sightOf = (state: ProviderState): ProviderSight => ({
  ...namesOf(state),
  phase: state.phase,
  lastSuccessAt: state.lastSuccessAt ?? null,
  lastRefusal: state.lastRefusal === undefined ? null : { at: state.lastRefusal.at, reason: state.lastRefusal.reason },
  p95Ms: state.latencyMs === undefined ? null : Math.round(state.latencyMs.p95),
  retryAt: state.retryAt ?? null,
  isPaused: state.isPaused,
  recent: state.recent
})

/** A reranker appears among the providers, with its target and its type. */
const rerankerSightOf = ({ lastRefusal, lastSuccessAt, phase, target, type }: RerankState): ProviderSight => ({
  provider: `rerank ${target}`,
  engine: type,
  phase,
  lastSuccessAt: lastSuccessAt ?? null,
  lastRefusal: lastRefusal === undefined ? null : { at: lastRefusal.at, reason: lastRefusal.reason },
  p95Ms: null
})

const gaugeValue = (gauge: Metric.Gauge<number>): Effect.Effect<number> =>
  Effect.map(Metric.value(gauge), ({ value }) => value)

/** Read from the gauges of the pool and the Redis connection. */
const readVitals = Effect.fnUntraced(function* (
  states: ProviderStates["Service"],
  usesRedis: boolean,
  plans: PlanTable
) {
  const system = "postgresql"
  const max = yield* gaugeValue(databaseMax.of(system))
  const pool = {
    max,
    used: yield* gaugeValue(databaseConnections.of(system)),
    waiting: yield* gaugeValue(databasePending.of(system))
  }
  const vitals: Vitals = {
    redis: usesRedis ? ((yield* gaugeValue(redisAway.of())) === 0 ? "answers" : "away") : "off",
    pool: max === 0 ? null : pool,
    providers: [
      ...(yield* states.all).slice(0, maxProviders).map(sightOf),
      ...(yield* states.rerankers).map(rerankerSightOf)
    ],
    plans: digestOf(plans)
  }
  return vitals
})

/** Reports this process to `Replicas` while it runs, and takes up the pauses of providers. A failed heartbeat is not repeated; the next one follows. */
export const layer = ({ commit, host, reachable, usesRedis, version }: HeartbeatOptions) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const replicas = yield* Replicas
      const states = yield* ProviderStates
      const readiness = yield* Readiness
      const plans = yield* Plans
      const pauses = yield* ProviderPauses
      const id =
        (yield* ReplicaId) ?? (yield* Effect.die(new Error("a process without a replica's id has no heartbeat")))
      let isRecorded = true
      const startedAt = yield* Clock.currentTimeMillis
      const beat = Effect.gen(function* () {
        yield* states.setPauses(yield* pauses.all)
        const vitals = yield* readVitals(states, usesRedis, plans)
        const bound = yield* readiness.address
        const address = bound === undefined ? undefined : formatAddress(reachable(bound))
        const now = yield* Clock.currentTimeMillis
        yield* replicas.beat({ id, host, address, version, commit, startedAt, now, vitals })
        isRecorded = true
      }).pipe(
        Effect.catchCause((cause) => {
          const log = isRecorded ? Effect.logWarning : Effect.logDebug
          isRecorded = false
          return log(
            "The heartbeat of this replica was not recorded. After 20 s of their own, other replicas release its holds.",
            cause
          )
        })
      )
      yield* Effect.addFinalizer(() => Effect.ignoreCause(Effect.timeoutOption(replicas.leave(id), maxLeave)))
      const beats = Effect.repeat(beat, Schedule.spaced(heartbeatInterval))
      yield* Effect.forkScoped(Effect.provideService(beats, DatabaseLane, "operator"))
    })
  )
