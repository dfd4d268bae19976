import { Context, Effect } from "effect"
import { RateLimited } from "../domain/errors.ts"

/** How many request bodies may be awaited at once, and how many bytes of them may be kept. */
export interface BodyLimits {
  readonly maxBodies: number
  readonly maxBytes: number
}

/** What the requests of one listener may take together. */
export interface IntakeLimits {
  /** Requests that are worked on. Each may hold a body of 1 MiB and an upstream call. */
  readonly maxRequestsInFlight: number
  /** Bodies of callers whose credential was accepted. */
  readonly bodies: BodyLimits
  /** Bodies of everybody else: a share of their own, so that they take nothing from callers who are known. */
  readonly anonymousBodies: BodyLimits
}

export const intakeLimits: IntakeLimits = {
  maxRequestsInFlight: 1024,
  bodies: { maxBodies: 2048, maxBytes: 64 * 1024 * 1024 },
  anonymousBodies: { maxBodies: 512, maxBytes: 16 * 1024 * 1024 }
}

/** Whether a body comes from a caller whose credential was accepted. */
export type Sender = "known" | "anonymous"

/** Seconds after which a refused caller should try again. */
export const busyRetrySeconds = 1

/** The answer to what does not fit into a full process (R57). */
export const busy = new RateLimited({
  message: "The service is busy. Nothing was charged; try again in a moment.",
  retryAfterSeconds: busyRetrySeconds
})

/** The bodies that are being collected for one kind of sender. */
export class BodyPool {
  bodies = 0
  bytes = 0
  readonly limits: BodyLimits

  constructor(limits: BodyLimits) {
    this.limits = limits
  }

  /** Counts bytes of memory for a body, or answers false when they would be too many. */
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
 * Counts the requests that are worked on. One that waits for its body is not worked on: senders that never finish would
 * take all places from requests that could be answered.
 */
export class Intake {
  inFlight = 0
  readonly limits: IntakeLimits
  readonly pools: Readonly<Record<Sender, BodyPool>>

  constructor(limits: IntakeLimits) {
    this.limits = limits
    this.pools = { known: new BodyPool(limits.bodies), anonymous: new BodyPool(limits.anonymousBodies) }
  }

  get full(): boolean {
    return this.inFlight >= this.limits.maxRequestsInFlight
  }

  /** Collects a body from a pool. The request gives up its place meanwhile, and is refused when there is none after it. */
  readonly awaitBody = <A, E>(
    sender: Sender,
    collect: (pool: BodyPool) => Effect.Effect<A, E>
  ): Effect.Effect<A, E | RateLimited> => {
    const pool = this.pools[sender]
    const start = Effect.suspend(() => {
      if (pool.bodies >= pool.limits.maxBodies) return Effect.fail(busy)
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
        () => busy
      )
    )
  }
}

/** The intake of the listener that a request came through. */
export const CurrentIntake = Context.Reference<Intake>("quarry/http/CurrentIntake", {
  defaultValue: () => new Intake(intakeLimits)
})
