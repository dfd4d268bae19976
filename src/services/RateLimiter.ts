import { Context, type Effect } from "effect"
import type { RateLimit } from "../domain/Principal.ts"

export interface RateLimitDecision {
  readonly admitted: boolean
  /** Requests that a rolling minute admits. */
  readonly limit: number
  /** Further requests that would be admitted now. */
  readonly remaining: number
  /** Unix second, rounded up, at which the oldest counted request leaves the window. */
  readonly resetAtSeconds: number
  /** Whole seconds until then, at least 1. */
  readonly retryAfterSeconds: number
}

export const windowMs = 60_000

/** Computes the decision on a request from its window. */
export const decisionFrom = (window: {
  readonly admitted: boolean
  readonly limit: number
  readonly counted: number
  /** Unix time of the oldest counted request, or the present time without one. */
  readonly oldestMs: number
  readonly nowMs: number
}): RateLimitDecision => {
  const leavesAtMs = window.oldestMs + windowMs
  return {
    admitted: window.admitted,
    limit: window.limit,
    remaining: Math.max(0, window.limit - window.counted),
    resetAtSeconds: Math.ceil(leavesAtMs / 1000),
    retryAfterSeconds: Math.max(1, Math.ceil((leavesAtMs - window.nowMs) / 1000))
  }
}

/**
 * An exact rolling window of 60 seconds (R27): a request is admitted where fewer than `limit` were admitted in the 60
 * seconds before it. Denied requests are not counted. Never fails: without its store it counts in this process (R28).
 */
export class RateLimiter extends Context.Service<
  RateLimiter,
  {
    /** Counts one request of a credential, or denies it. */
    readonly hit: (rate: RateLimit) => Effect.Effect<RateLimitDecision>
  }
>()("quarry/services/RateLimiter") {}
