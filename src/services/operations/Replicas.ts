import { Context, type Effect } from "effect"
import type { Phase } from "../../domain/providers/CoolDown.ts"
import type { RefusalReason } from "../../domain/providers/Refusal.ts"

/** A provider as one replica sees it. Times are Unix milliseconds. */
export interface ProviderSight {
  readonly provider: string
  readonly engine: string | null
  readonly phase: Phase
  readonly lastSuccessAt: number | null
  readonly lastRefusal: { readonly at: number; readonly reason: RefusalReason } | null
  readonly p95Ms: number | null
}

/** The state that a replica reports of itself. */
export interface Vitals {
  /** `off` where no Redis is configured. */
  readonly redis: "off" | "answers" | "away"
  /** Null for the embedded database, which has no pool. */
  readonly pool: { readonly max: number; readonly used: number; readonly waiting: number } | null
  readonly providers: ReadonlyArray<ProviderSight>
  /** The digest of the plans that it was started with. */
  readonly plans?: string | undefined
}

/** The id of this process as a replica; undefined in a command. */
export const ReplicaId = Context.Reference<string | undefined>("quarry/services/ReplicaId", {
  defaultValue: () => undefined
})

/** A running process of the server. */
export interface ReplicaIdentity {
  readonly id: string
  readonly host: string
  /** The host and port at which other machines reach the public listener; undefined before it listens. */
  readonly address: string | undefined
  readonly version: string
  /** The commit that `QUARRY_COMMIT` names. */
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
  /** Its last heartbeat, in Unix milliseconds on the store's clock. */
  readonly seenAt: number
  /** The time since its last heartbeat. */
  readonly silentMs: number
  /** Its clock less the store's. The way of the heartbeat, some milliseconds, is part of it. */
  readonly skewMs: number
  /** Undefined where another version wrote it in a form that this one does not know. */
  readonly vitals: Vitals | undefined
}

/** Replicas that are kept: a process that crashes at each start must not fill the store. */
export const maxReplicas = 500

/** Replicas that have been silent for longer are forgotten. */
export const forgetAfterMs = 3_600_000

/** The replicas of this deployment, as they report themselves to the store. */
export class Replicas extends Context.Service<
  Replicas,
  {
    /** Records a heartbeat, and forgets the replicas that have long been silent. */
    readonly beat: (heartbeat: Heartbeat) => Effect.Effect<void>
    /** Removes a replica that ends in order. One that crashed stays, so that the operator sees it silent. */
    readonly leave: (id: string) => Effect.Effect<void>
    /** Removes a replica that has been silent for `silentAfterMs`. */
    readonly forget: (id: string) => Effect.Effect<"forgotten" | "running" | "unknown">
    /** The oldest first. */
    readonly all: Effect.Effect<ReadonlyArray<Replica>>
  }
>()("quarry/services/Replicas") {}
