import { Clock, Context, Effect } from "effect"

export interface StoreClock {
  /** Milliseconds by which the store's clock is ahead of this process's. */
  readonly skewMs: () => number
}

/**
 * The clock of the store, which all replicas share: periods, and the times of what is stored, go by it (R55). It is this
 * process's clock and the measured difference. Where nothing measures, as in tests, the difference is 0.
 */
export const StoreClock = Context.Reference<StoreClock>("quarry/services/StoreClock", {
  defaultValue: () => ({ skewMs: () => 0 })
})

/** The present moment by the store's clock, in Unix milliseconds. */
export const storeTime = (clock: StoreClock): Effect.Effect<number> =>
  Effect.map(Clock.currentTimeMillis, (now) => now + clock.skewMs())
