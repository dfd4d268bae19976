import { Context, type Effect } from "effect"
import type { Phase } from "../../domain/providers/CoolDown.ts"
import type { RefusalReason } from "../../domain/providers/Refusal.ts"

/** Times are Unix milliseconds. */
export interface ProviderSight {
  readonly provider: string
  readonly engine: string | null
  readonly phase: Phase
  readonly lastSuccessAt: number | null
  readonly lastRefusal: { readonly at: number; readonly reason: RefusalReason } | null
  readonly p95Ms: number | null
}

/** Reported by the replica itself. */
export interface Vitals {
  /** `off`: no Redis is configured. */
  readonly redis: "off" | "answers" | "away"
  /** Null for the embedded database, which has no pool. */
  readonly pool: { readonly max: number; readonly used: number; readonly waiting: number } | null
  readonly providers: ReadonlyArray<ProviderSight>
  /** `digestOf` the plans that it was started with. */
  readonly plans?: string | undefined
}

/** Undefined in a command. */
export const ReplicaId = Context.Reference<string | undefined>("quarry/services/ReplicaId", {
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
>()("quarry/services/Replicas") {}
