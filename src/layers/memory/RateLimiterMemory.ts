import { Clock, Effect, Layer } from "effect"
import { type RateLimitDecision, RateLimiter, windowMs } from "../../services/RateLimiter.ts"

/**
 * Credentials remembered at once. Beyond it the one seen longest ago is forgotten and starts with an empty window:
 * whoever makes up new addresses can only push out the idle, and no caller is ever refused for the limiter's own sake.
 */
const defaultMaxCredentials = 100_000

/** Idle credentials looked for on each hit. Two, so that they leave faster than new ones can arrive. */
const sweptPerHit = 2

/** The times of the counted requests, oldest first, in a ring that grows up to the most requests a window admits. */
class RollingLog {
  private ring = new Float64Array(8)
  private first = 0
  count = 0

  private at(index: number): number {
    return this.ring[(this.first + index) % this.ring.length] ?? 0
  }

  get oldest(): number | undefined {
    return this.count === 0 ? undefined : this.at(0)
  }

  /** Whether every counted request has left the window. */
  isIdle(now: number): boolean {
    return this.count === 0 || this.at(this.count - 1) + windowMs <= now
  }

  forget(now: number): void {
    while (this.count > 0 && this.at(0) + windowMs <= now) {
      this.first = (this.first + 1) % this.ring.length
      this.count--
    }
  }

  add(now: number): void {
    if (this.count === this.ring.length) {
      this.ring = Float64Array.from({ length: this.count * 2 }, (_, index) => (index < this.count ? this.at(index) : 0))
      this.first = 0
    }
    this.ring[(this.first + this.count) % this.ring.length] = now
    this.count++
  }
}

/** Limits in this process alone: for one replica, and for each of several while their store is unreachable (R28). */
export const layer = (options?: { readonly maxCredentials?: number }): Layer.Layer<RateLimiter> =>
  Layer.sync(RateLimiter, () => {
    const maxCredentials = options?.maxCredentials ?? defaultMaxCredentials
    /** In the order in which they were last seen, which is that of a Map whose entries are put back on each hit. */
    const logs = new Map<string, RollingLog>()

    const sweep = (now: number): void => {
      let left = sweptPerHit
      for (const [credential, log] of logs) {
        if (left-- === 0 || (!log.isIdle(now) && logs.size <= maxCredentials)) return
        logs.delete(credential)
      }
    }

    const decide = (credential: string, limit: number, now: number): RateLimitDecision => {
      const log = logs.get(credential) ?? new RollingLog()
      logs.delete(credential)
      logs.set(credential, log)
      log.forget(now)
      const admitted = log.count < limit
      if (admitted) log.add(now)
      sweep(now)
      const leavesAt = (log.oldest ?? now) + windowMs
      return {
        admitted,
        limit,
        remaining: Math.max(0, limit - log.count),
        resetAtSeconds: Math.ceil(leavesAt / 1000),
        retryAfterSeconds: Math.max(1, Math.ceil((leavesAt - now) / 1000))
      }
    }

    return RateLimiter.of({
      hit: ({ credential, limit }) => Effect.map(Clock.currentTimeMillis, (now) => decide(credential, limit, now))
    })
  })
