import { Context, type Effect } from "effect"
import type { RateLimit } from "../../domain/accounts/Principal.ts"

export interface RateLimitDecision {
  readonly admitted: boolean
  readonly limit: number
  /** Requests that would still be admitted now. */
  readonly remaining: number
  /** Unix second, rounded up, at which the oldest counted request leaves the window. */
  readonly resetAtSeconds: number
  readonly retryAfterSeconds: number
}

export const windowMs = 60_000

export const decisionFrom = (window: {
  readonly admitted: boolean
  readonly limit: number
  readonly counted: number
  /** Unix milliseconds of the oldest counted request, or the current time if there is none. */
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
 * An exact rolling window of 60 seconds (R27), in which rejected requests are not counted. Never fails: if its store is
 * unreachable, it counts in this process (R28).
 *
 * Layers: `RateLimiterMemory` and `RateLimiterRedis`. To provide your own:
 *
 * ```ts
 * const unlimited = Layer.succeed(RateLimiter, {
 *   hit: ({ limit }) =>
 *     Effect.succeed({ admitted: true, limit, remaining: limit, resetAtSeconds: 0, retryAfterSeconds: 1 })
 * })
 * ```
 */
export class RateLimiter extends Context.Service<
  RateLimiter,
  {
    readonly hit: (rate: RateLimit) => Effect.Effect<RateLimitDecision>
  }
>()("quarry/services/credits/RateLimiter") {}
