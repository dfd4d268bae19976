import { Context, type Effect, Schema } from "effect"
import { phases } from "../../domain/providers/CoolDown.ts"
import { refusalReasons } from "../../domain/providers/Refusal.ts"

/** Times are Unix milliseconds. */
const ProviderSight = Schema.Struct({
  provider: Schema.String,
  engine: Schema.NullOr(Schema.String),
  phase: Schema.Literals(phases),
  lastSuccessAt: Schema.NullOr(Schema.Number),
  lastRefusal: Schema.NullOr(Schema.Struct({ at: Schema.Number, reason: Schema.Literals(refusalReasons) })),
  p95Ms: Schema.NullOr(Schema.Number),
  // Absent from rerankers, and from replicas of versions that do not report them.
  retryAt: Schema.optionalKey(Schema.NullOr(Schema.Number)),
  isPaused: Schema.optionalKey(Schema.Boolean),
  recent: Schema.optionalKey(Schema.Struct({ calls: Schema.Number, answers: Schema.Number }))
})
export type ProviderSight = typeof ProviderSight.Type

/** Reported by the replica itself. */
export const Vitals = Schema.Struct({
  /** `off`: no Redis is configured. */
  redis: Schema.Literals(["off", "answers", "away"]),
  /** Null for the embedded database, which has no pool. */
  pool: Schema.NullOr(Schema.Struct({ max: Schema.Number, used: Schema.Number, waiting: Schema.Number })),
  providers: Schema.Array(ProviderSight),
  /** `digestOf` the plans that it was started with. */
  plans: Schema.optionalKey(Schema.String)
})
export type Vitals = typeof Vitals.Type

/** Undefined in a command. */
export const ReplicaId = Context.Reference<string | undefined>("quarry/references/ReplicaId", {
  defaultValue: () => undefined
})

export interface ReplicaIdentity {
  readonly id: string
  readonly host: string
  /** The public listener as other machines reach it. Undefined before it listens. */
  readonly address: string | undefined
  readonly version: string
  /** From `QUARRY_COMMIT`. */
  readonly commit: string | undefined
  /** Unix milliseconds on the replica's clock. */
  readonly startedAt: number
}

export interface Heartbeat extends ReplicaIdentity {
  /** Unix milliseconds on the replica's clock, from which the store computes its skew. */
  readonly now: number
  readonly vitals: Vitals
}

export interface Replica extends ReplicaIdentity {
  /** Unix milliseconds on the store's clock. */
  readonly seenAt: number
  /** Milliseconds since the last heartbeat. */
  readonly silentMs: number
  /** The replica's clock minus the store's, including the few milliseconds that the heartbeat takes. */
  readonly skewMs: number
  /** Undefined if another version wrote it in a form that this one cannot read. */
  readonly vitals: Vitals | undefined
}

/** A process that crashes at each start must not fill the store. */
export const maxReplicas = 500

export const forgetAfterMs = 3_600_000

export class Replicas extends Context.Service<
  Replicas,
  {
    /** Also forgets replicas that were silent for `forgetAfterMs`. */
    readonly beat: (heartbeat: Heartbeat) => Effect.Effect<void>
    /** For a regular shutdown. A crashed replica stays, so that the operator sees it silent. */
    readonly leave: (id: string) => Effect.Effect<void>
    /** Removes a replica that was silent for `silentAfterMs`. */
    readonly forget: (id: string) => Effect.Effect<"forgotten" | "running" | "unknown">
    /** Oldest first. */
    readonly all: Effect.Effect<ReadonlyArray<Replica>>
  }
>()("quarry/services/operations/Replicas") {}
