import { Context, Effect } from "effect"
import { RateLimited } from "../../domain/errors.ts"

export interface BodyLimits {
  readonly maxBodies: number
  readonly maxBytes: number
}

export interface LookupLimits {
  readonly maxLookups: number
  readonly maxPerAccount: number
}

export interface IntakeLimits {
  /** Concurrent requests. Each may hold a 1 MiB body and an upstream call. */
  readonly maxRequestsInFlight: number
  readonly bodies: BodyLimits
  /** A separate pool, so that anonymous requests cannot block authenticated callers. */
  readonly anonymousBodies: BodyLimits
  readonly lookups: LookupLimits
}

export const intakeLimits: IntakeLimits = {
  maxRequestsInFlight: 1024,
  bodies: { maxBodies: 2048, maxBytes: 64 * 1024 * 1024 },
  anonymousBodies: { maxBodies: 512, maxBytes: 16 * 1024 * 1024 },
  lookups: { maxLookups: 64, maxPerAccount: 2 }
}

export type Sender = "authenticated" | "anonymous"

export const busyRetrySeconds = 1

export const busyError = new RateLimited({
  message: "The service is busy. Nothing was charged; try again in a moment.",
  retryAfterSeconds: busyRetrySeconds
})

export class BodyPool {
  bodies = 0
  bytes = 0
  readonly limits: BodyLimits

  constructor(limits: BodyLimits) {
    this.limits = limits
  }

  take(bytes: number): boolean {
    if (this.bytes + bytes > this.limits.maxBytes) return false
    this.bytes += bytes
    return true
  }

  giveBack(bytes: number): void {
    this.bytes -= bytes
  }
}

/** Counts requests in progress, except while they wait for their body or DNS, which may be slow. */
export class Intake {
  inFlight = 0
  private lookups = 0
  private readonly lookupsByAccount = new Map<string, number>()
  readonly limits: IntakeLimits
  readonly pools: Readonly<Record<Sender, BodyPool>>

  constructor(limits: IntakeLimits) {
    this.limits = limits
    this.pools = { authenticated: new BodyPool(limits.bodies), anonymous: new BodyPool(limits.anonymousBodies) }
  }

  get isFull(): boolean {
    return this.inFlight >= this.limits.maxRequestsInFlight
  }

  /** Waits without holding the request's place. Fails with `busyError` if none is free afterwards. */
  readonly awaitBody = <A, E>(
    sender: Sender,
    collect: (pool: BodyPool) => Effect.Effect<A, E>
  ): Effect.Effect<A, E | RateLimited> => {
    const pool = this.pools[sender]
    const start = Effect.suspend(() => {
      if (pool.bodies >= pool.limits.maxBodies) return Effect.fail(busyError)
      pool.bodies++
      this.inFlight--
      return Effect.void
    })
    const end = Effect.sync(() => {
      pool.bodies--
      this.inFlight++
    })
    return Effect.acquireUseRelease(
      start,
      () => collect(pool),
      () => end
    ).pipe(
      Effect.filterOrFail(
        () => this.inFlight <= this.limits.maxRequestsInFlight,
        () => busyError
      )
    )
  }

  /** Waits without holding the request's place. Fails with `busyError` if too many are waiting. */
  readonly awaitLookup = <A, E, R>(
    accountId: string,
    work: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | RateLimited, R> => {
    const { maxLookups, maxPerAccount } = this.limits.lookups
    const start = Effect.suspend(() => {
      const own = this.lookupsByAccount.get(accountId) ?? 0
      if (this.lookups >= maxLookups || own >= maxPerAccount) return Effect.fail(busyError)
      this.lookups++
      this.lookupsByAccount.set(accountId, own + 1)
      this.inFlight--
      return Effect.void
    })
    const end = Effect.sync(() => {
      this.lookups--
      const others = (this.lookupsByAccount.get(accountId) ?? 1) - 1
      if (others === 0) this.lookupsByAccount.delete(accountId)
      else this.lookupsByAccount.set(accountId, others)
      this.inFlight++
    })
    return Effect.acquireUseRelease(
      start,
      () => work,
      () => end
    )
  }
}

export const CurrentIntake = Context.Reference<Intake>("quarry/references/CurrentIntake", {
  defaultValue: () => new Intake(intakeLimits)
})
