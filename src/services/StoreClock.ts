import { Clock, Context, Effect, Layer } from "effect"

/** All replicas use the database's clock for periods and stored times (R55). */
export class StoreClock extends Context.Service<
  StoreClock,
  {
    /** Milliseconds by which the database's clock is ahead of this process. */
    readonly skewMs: () => number
  }
>()("quarry/services/StoreClock") {
  /** The clock of this process, for a store inside it. */
  static readonly own = Layer.succeed(StoreClock, { skewMs: () => 0 })
}

/** The current time of the database's clock, in Unix milliseconds. */
export const storeTime = (clock: StoreClock["Service"]): Effect.Effect<number> =>
  Effect.map(Clock.currentTimeMillis, (now) => now + clock.skewMs())
