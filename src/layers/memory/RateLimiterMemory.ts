import { Clock, Effect, Layer } from "effect"
import { decisionFrom, type RateLimitDecision, RateLimiter, windowMs } from "../../services/credits/RateLimiter.ts"

/** Beyond this, the credentials idle the longest start a new window, so that no caller is denied for lack of space. */
const defaultMaxCredentials = 200_000

/** The times of the counted requests, oldest first, in a ring that grows up to a window's limit. */
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

/** For a single replica, and for each replica while Redis is unreachable (R28). */
export const layer = (options?: { readonly maxCredentials?: number }): Layer.Layer<RateLimiter> =>
  Layer.sync(RateLimiter, () => {
    const maxInGeneration = (options?.maxCredentials ?? defaultMaxCredentials) / 2
    // Two generations. Unless full, a generation lasts at least a window, so entries dropped after two have expired.
    let recent = new Map<string, RollingLog>()
    let older = new Map<string, RollingLog>()
    let turnsAt = 0

    const logOf = (credential: string, now: number): RollingLog => {
      if (now >= turnsAt) turn(now)
      const found = recent.get(credential)
      if (found !== undefined) return found
      const log = older.get(credential) ?? new RollingLog()
      if (recent.size >= maxInGeneration) turn(now)
      older.delete(credential)
      recent.set(credential, log)
      return log
    }

    const turn = (now: number): void => {
      older = recent
      recent = new Map()
      turnsAt = now + windowMs
    }

    const decide = (credential: string, limit: number, now: number): RateLimitDecision => {
      const log = logOf(credential, now)
      log.forget(now)
      const admitted = log.count < limit
      if (admitted) log.add(now)
      return decisionFrom({ admitted, limit, counted: log.count, oldestMs: log.oldest ?? now, nowMs: now })
    }

    return RateLimiter.of({
      hit: ({ credential, limit }) => Effect.map(Clock.currentTimeMillis, (now) => decide(credential, limit, now))
    })
  })
