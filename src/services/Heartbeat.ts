import { Clock, Duration, Effect, Layer, Metric, Schedule } from "effect"
import { Ids } from "./Ids.ts"
import { databaseConnections, databaseMax, databasePending, redisAway } from "./Metrics.ts"
import { namesOf } from "./Provider.ts"
import type { ProviderState } from "./ProviderMonitor.ts"
import { ProviderStates } from "./ProviderStates.ts"
import { type ProviderSight, Replicas, type Vitals } from "./Replicas.ts"

/** The time between two heartbeats: one small statement of each replica. */
export const heartbeatInterval = Duration.seconds(15)

/** The longest that the end of a process waits for its replica to be forgotten. */
const maxLeave = Duration.seconds(1)

/** Providers in a heartbeat, so that a long provider file does not make it large. */
const maxProviders = 100

export interface HeartbeatOptions {
  readonly host: string
  readonly version: string
  /** False where the settings name no Redis. */
  readonly usesRedis: boolean
}

const sightOf = (state: ProviderState): ProviderSight => ({
  ...namesOf(state),
  phase: state.phase,
  lastSuccessAt: state.lastSuccessAt ?? null,
  lastRefusal: state.lastRefusal === undefined ? null : { at: state.lastRefusal.at, reason: state.lastRefusal.reason },
  p95Ms: state.latencyMs === undefined ? null : Math.round(state.latencyMs.p95)
})

const gaugeValue = (gauge: Metric.Gauge<number>): Effect.Effect<number> =>
  Effect.map(Metric.value(gauge), ({ value }) => value)

/** The gauges that the pool and the Redis connection keep of themselves. */
const readVitals = Effect.fnUntraced(function* (states: ProviderStates["Service"], usesRedis: boolean) {
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
    providers: (yield* states.all).slice(0, maxProviders).map(sightOf)
  }
  return vitals
})

/** Reports this process to `Replicas` for as long as it runs. A heartbeat that fails is followed by the next one. */
export const layer = ({ host, usesRedis, version }: HeartbeatOptions) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const replicas = yield* Replicas
      const states = yield* ProviderStates
      const id = yield* Effect.flatMap(Ids, (ids) => ids.make("rep_"))
      const startedAt = yield* Clock.currentTimeMillis
      const beat = Effect.gen(function* () {
        const vitals = yield* readVitals(states, usesRedis)
        yield* replicas.beat({ id, host, version, startedAt, now: yield* Clock.currentTimeMillis, vitals })
      }).pipe(Effect.catchCause((cause) => Effect.logDebug("The heartbeat of this replica was not recorded.", cause)))
      yield* Effect.addFinalizer(() => Effect.ignoreCause(Effect.timeoutOption(replicas.leave(id), maxLeave)))
      yield* Effect.forkScoped(Effect.repeat(beat, Schedule.spaced(heartbeatInterval)))
    })
  )
