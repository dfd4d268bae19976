import { Context, Duration, Effect, Layer } from "effect"
import { ifActing, logFailure, runRepeatedly } from "../background.ts"

/**
 * The limits of the plans that are in force for all replicas, and the accounts that follow them. Limits that were agreed with
 * an account follow no plan.
 */
export class PlanBooks extends Context.Service<
  PlanBooks,
  {
    /** Puts the limits of this process's plans in force from now on, for every replica. */
    readonly enact: Effect.Effect<void>
    /**
     * Brings accounts to the limits in force: higher ones at once, lower ones from an account's next period. The result is the
     * number of accounts that changed; 0 where other plans than this process's are in force.
     */
    readonly apply: Effect.Effect<number>
  }
>()("quarry/services/PlanBooks") {}

/**
 * The time between two looks for accounts that do not have the limits in force: another replica may have made them, or changed
 * their plan, with the plans that it was started with.
 */
const applyInterval = Duration.hours(1)

/** Puts this process's plans in force at its start, and brings accounts to them for as long as it runs. */
export const layer: Layer.Layer<never, never, PlanBooks> = Layer.effectDiscard(
  Effect.gen(function* () {
    const { apply, enact } = yield* PlanBooks
    const applied = Effect.tap(apply, (count) =>
      count === 0 ? Effect.void : Effect.logInfo(`The limits of ${count} accounts follow their plans, which changed.`)
    )
    const turn = logFailure(applied, "Accounts could not be brought to the limits of their plans; the next turn will.")
    yield* ifActing(
      Effect.gen(function* () {
        yield* enact
        yield* runRepeatedly(turn, applyInterval)
      })
    )
  })
)
