import { Context, type Duration, Effect, Schedule } from "effect"
import { DatabaseLane } from "./DatabaseLane.ts"

/**
 * False with `QUARRY_BACKGROUND=off` and in commands: without a request or command, the process contacts no one, moves
 * no credits and deletes nothing (R74).
 */
export const ActsOnItsOwn = Context.Reference("quarry/references/ActsOnItsOwn", { defaultValue: () => true })

/** Logs a failure and continues. The next run retries. */
export const logFailure = <A, E, R>(work: Effect.Effect<A, E, R>, message: string) =>
  Effect.catchCause(Effect.asVoid(work), (cause) => Effect.logWarning(message, cause))

export const runInBackground = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.forkScoped(Effect.provideService(work, DatabaseLane, "background"))

/** Waits `interval` after each run. */
export const runRepeatedly = <R>(work: Effect.Effect<void, never, R>, interval: Duration.Duration) =>
  runInBackground(Effect.repeat(work, Schedule.spaced(interval)))

export const ifActing = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.flatMap(ActsOnItsOwn, (acts) => (acts ? Effect.asVoid(work) : Effect.void))
