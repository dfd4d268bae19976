import { Clock, Context, Effect } from "effect"

export interface StoreClock {
  /** Milliseconds by which the database's clock is ahead of this process. */
  readonly skewMs: () => number
}

/** Replicas take periods and stored times from the database's clock (R55). The skew is 0 if nothing measures it. */
export const StoreClock = Context.Reference<StoreClock>("quarry/services/StoreClock", {
  defaultValue: () => ({ skewMs: () => 0 })
})

export const storeTime = (clock: StoreClock): Effect.Effect<number> =>
  Effect.map(Clock.currentTimeMillis, (now) => now + clock.skewMs())
