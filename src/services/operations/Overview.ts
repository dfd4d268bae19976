import { Context, DateTime, Effect, Layer } from "effect"
import {
  type ProviderStatus,
  type ReplicaStatus,
  type Status,
  silentAfterMs,
  successorsOf
} from "../../domain/operations/Status.ts"
import { Holds } from "../credits/Holds.ts"
import { DatabaseLane } from "../DatabaseLane.ts"
import { DocumentIndex } from "../index/DocumentIndex.ts"
import { DatabaseInspection } from "./DatabaseInspection.ts"
import { RedisInspection } from "./RedisInspection.ts"
import { type ProviderSight, type Replica, Replicas } from "./Replicas.ts"

const toIso = (millis: number | null): string | null =>
  millis === null ? null : DateTime.formatIso(DateTime.makeUnsafe(millis))

const isSilent = ({ silentMs }: Replica): boolean => silentMs > silentAfterMs

const toReplicaStatuses = (replicas: ReadonlyArray<Replica>): ReadonlyArray<ReplicaStatus> => {
  const successors = successorsOf(
    replicas.map((replica) => ({
      id: replica.id,
      startedAt: replica.startedAt - replica.skewMs,
      seenAt: replica.seenAt,
      silent: isSilent(replica)
    }))
  )
  return replicas.map((replica) => toReplicaStatus(replica, successors.get(replica.id) ?? null))
}

const toReplicaStatus = (replica: Replica, successor: string | null): ReplicaStatus => ({
  id: replica.id,
  host: replica.host,
  address: replica.address ?? null,
  version: replica.version,
  commit: replica.commit ?? null,
  started_at: toIso(replica.startedAt),
  silent_seconds: Math.round(replica.silentMs / 1000),
  silent: isSilent(replica),
  successor,
  skew_ms: replica.skewMs,
  redis: replica.vitals?.redis ?? null,
  pool: replica.vitals?.pool ?? null,
  plans: replica.vitals?.plans ?? null
})

const largest = (values: ReadonlyArray<number | null>): number | null =>
  values.reduce((most, value) => (value === null || (most !== null && most > value) ? most : value), null)

export const toProviderStatus = (sights: Sights): ProviderStatus => {
  const [{ engine, provider }] = sights
  const count = (phase: ProviderSight["phase"]) => sights.filter((sight) => sight.phase === phase).length
  const refusedAt = largest(sights.map(({ lastRefusal }) => lastRefusal?.at ?? null))
  const refusal = sights.find(({ lastRefusal }) => lastRefusal !== null && lastRefusal.at === refusedAt)?.lastRefusal
  return {
    provider,
    engine,
    replicas: { closed: count("closed"), open: count("open"), half_open: count("half_open") },
    last_success_at: toIso(largest(sights.map(({ lastSuccessAt }) => lastSuccessAt))),
    last_refusal: refusal == null ? null : { at: toIso(refusal.at), reason: refusal.reason },
    p95_ms: largest(sights.map(({ p95Ms }) => p95Ms))
  }
}

type Sights = readonly [ProviderSight, ...ReadonlyArray<ProviderSight>]

/** The reports of running replicas about each provider, by its name. */
export const sightsOf = (replicas: ReadonlyArray<Replica>): ReadonlyArray<Sights> => {
  const byName = new Map<string, [ProviderSight, ...Array<ProviderSight>]>()
  for (const replica of replicas) {
    if (isSilent(replica)) continue
    for (const sight of replica.vitals?.providers ?? []) {
      const name = `${sight.provider}/${sight.engine ?? ""}`
      const sights = byName.get(name)
      if (sights === undefined) byName.set(name, [sight])
      else sights.push(sight)
    }
  }
  return Array.from(byName)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, sights]) => sights)
}

/** The state of the whole deployment. */
export class Overview extends Context.Service<
  Overview,
  {
    /** Never fails: a part that cannot be read is null. */
    readonly look: Effect.Effect<Status>
  }
>()("quarry/services/operations/Overview") {
  static readonly layer = (version: string) =>
    Layer.effect(
      Overview,
      Effect.gen(function* () {
        const inspection = yield* DatabaseInspection
        const redis = yield* RedisInspection
        const replicas = yield* Replicas
        const holds = yield* Holds
        const index = yield* DocumentIndex
        /** Null if the database is unreachable, or lacks the table because a migration is pending. */
        const orNull = <A>(effect: Effect.Effect<A>) => Effect.catchCause(effect, () => Effect.succeed(null))
        const look = Effect.gen(function* () {
          const { database, migrations } = yield* inspection.look
          const found = database.reachable ? yield* orNull(replicas.all) : null
          const loading = database.reachable ? yield* orNull(index.isLoading) : null
          return {
            version,
            database,
            migrations,
            holds: database.reachable ? yield* orNull(holds.count) : null,
            redis: yield* redis.look,
            index: loading === null ? null : { loading },
            replicas: found === null ? null : toReplicaStatuses(found),
            providers: sightsOf(found ?? []).map(toProviderStatus)
          }
        })
        return Overview.of({ look: Effect.provideService(look, DatabaseLane, "operator") })
      })
    )
}
