import { Context, Duration, Effect, Layer } from "effect"
import { plural } from "../../domain/text.ts"
import { ifActing, logFailure, runRepeatedly } from "../background.ts"

/** The plan limits in force on all replicas. Limits agreed with an account do not follow its plan. */
export class PlanBooks extends Context.Service<
  PlanBooks,
  {
    /** Puts this process's plans in force for every replica. */
    readonly enact: Effect.Effect<void>
    /**
     * Applies the limits in force to accounts: higher limits immediately, lower ones from the next period. Returns the
     * number of accounts changed, which is 0 if another process's plans are in force.
     */
    readonly apply: Effect.Effect<number>
  }
>()("quarry/services/credits/PlanBooks") {}

/** Another replica may have created accounts or changed plans with the plans that it was started with. */
const applyInterval = Duration.hours(1)

/** Puts this process's plans in force and keeps accounts at them. */
export const layer: Layer.Layer<never, never, PlanBooks> = Layer.effectDiscard(
  Effect.gen(function* () {
    const { apply, enact } = yield* PlanBooks
    const applied = Effect.tap(apply, (count) =>
      count === 0
        ? Effect.void
        : Effect.logInfo(`Plans changed, and with them the limits of ${plural(count, "account")}.`)
    )
    const turn = logFailure(
      applied,
      "The limits of some accounts could not be updated to their plans. This will be retried."
    )
    yield* ifActing(
      Effect.gen(function* () {
        yield* enact
        yield* runRepeatedly(turn, applyInterval)
      })
    )
  })
)
