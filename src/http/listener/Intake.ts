import { Context, Effect } from "effect"
import { RateLimited } from "../../domain/errors.ts"

/** Limits on request bodies that are being received: their number and their bytes in memory. */
export interface BodyLimits {
  readonly maxBodies: number
  readonly maxBytes: number
}

/** Limits on requests that wait for the name servers of a host that their caller chose. */
export interface LookupLimits {
  readonly maxLookups: number
  readonly maxPerAccount: number
}

/** Limits over all requests of one listener. */
export interface IntakeLimits {
  /** Requests that are processed at once. Each may hold a body of 1 MiB and an upstream call. */
  readonly maxRequestsInFlight: number
  /** Bodies of requests whose credential was accepted. */
  readonly bodies: BodyLimits
  /** Bodies of other requests. Their pool is separate, so that they cannot block authenticated callers. */
  readonly anonymousBodies: BodyLimits
  readonly lookups: LookupLimits
}

export const intakeLimits: IntakeLimits = {
  maxRequestsInFlight: 1024,
  bodies: { maxBodies: 2048, maxBytes: 64 * 1024 * 1024 },
  anonymousBodies: { maxBodies: 512, maxBytes: 16 * 1024 * 1024 },
  lookups: { maxLookups: 64, maxPerAccount: 2 }
}

/** The sender of a body: `authenticated` where its credential was accepted. */
export type Sender = "authenticated" | "anonymous"

/** Value of `Retry-After`, in seconds, on responses with `busyError`. */
export const busyRetrySeconds = 1

/** The error of a request above the limits of the process (R57). */
export const busyError = new RateLimited({
  message: "The service is busy. Nothing was charged; try again in a moment.",
  retryAfterSeconds: busyRetrySeconds
})

/** Counts the bodies that are being received from one kind of sender. */
export class BodyPool {
  bodies = 0
  bytes = 0
  readonly limits: BodyLimits

  constructor(limits: BodyLimits) {
    this.limits = limits
  }

  /** Reserves memory for a body. Returns false, and reserves none, where the limit would be exceeded. */
  take(bytes: number): boolean {
    if (this.bytes + bytes > this.limits.maxBytes) return false
    this.bytes += bytes
    return true
  }

  giveBack(bytes: number): void {
    this.bytes -= bytes
  }
}

/**
 * Counts the requests that are processed. A request that waits for its body, or for name servers of its caller's choice,
 * is not counted, because slow ones would otherwise take all places.
 */
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

  /**
   * Receives a body, counted in its sender's pool. The request leaves its place meanwhile, and fails with `busyError`
   * where all places are taken afterwards.
   */
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

  /**
   * Runs work that looks up a host for an account. The request leaves its place meanwhile, and fails with `busyError`
   * before the work where too many wait, of this account or of all.
   */
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

/** The intake of the listener that received the request. */
export const CurrentIntake = Context.Reference<Intake>("quarry/http/CurrentIntake", {
  defaultValue: () => new Intake(intakeLimits)
})
