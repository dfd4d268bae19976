import { type Duration, Effect, Schedule } from "effect"

/** Work beside the requests, for as long as the process runs. */

/** Logs a failure and goes on: the next turn tries again. */
export const logFailure = <A, E, R>(work: Effect.Effect<A, E, R>, message: string) =>
  Effect.catchCause(Effect.asVoid(work), (cause) => Effect.logWarning(message, cause))

/** Runs again and again in a fiber of its own, with this time between the turns. */
export const runRepeatedly = <R>(work: Effect.Effect<void, never, R>, interval: Duration.Duration) =>
  Effect.forkScoped(Effect.repeat(work, Schedule.spaced(interval)))
