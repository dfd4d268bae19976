import { Clock, Context, Effect } from "effect"

export interface StoreClock {
  /** Milliseconds by which the database's clock is ahead of this process. */
  readonly skewMs: () => number
}

/**
 * All replicas use the database's clock for periods and stored times (R55). The skew is 0 if nothing measures it, as in
 * tests.
 */
export const StoreClock = Context.Reference<StoreClock>("quarry/references/StoreClock", {
  defaultValue: () => ({ skewMs: () => 0 })
})

/** The current time of the database's clock, in Unix milliseconds. */
export const storeTime = (clock: StoreClock): Effect.Effect<number> =>
  Effect.map(Clock.currentTimeMillis, (now) => now + clock.skewMs())
