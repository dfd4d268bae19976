import { type Duration, Effect, Predicate, Schedule } from "effect"
import type { SqlError } from "effect/sql"

/** States in which the server is going away or coming up, which the client files under unknown errors. */
const goingAway: ReadonlySet<unknown> = new Set(["57P01", "57P02", "57P03", "53300"])

/** Whether the statement may well succeed when it is sent again: a lost connection, a deadlock, a serialization failure. */
export const isTransient = ({ reason }: SqlError.SqlError): boolean => {
  switch (reason._tag) {
    case "ConnectionError":
    case "DeadlockError":
    case "SerializationError":
      return true
    case "UnknownError":
      return Predicate.hasProperty(reason.cause, "code") && goingAway.has(reason.cause.code)
    default:
      return false
  }
}

const maxRetries = 4
const backoff = Schedule.exponential("20 millis").pipe(Schedule.jittered)

/** Sends again what failed in passing. The statement must be one that may run twice: its first answer can be lost. */
export const retryTransient = <A, R>(effect: Effect.Effect<A, SqlError.SqlError, R>) =>
  Effect.retry(effect, { schedule: backoff, times: maxRetries, while: isTransient })

const maxPause = Schedule.spaced("500 millis")

/**
 * Sends again what failed in passing until the database tells how it ended, for as long as given. For statements whose
 * caller must not be told that they failed when they did not: a lost connection leaves open whether they were committed.
 */
export const retryUntilKnown =
  (duration: Duration.Duration) =>
  <A, R>(effect: Effect.Effect<A, SqlError.SqlError, R>) =>
    Effect.retry(effect, {
      schedule: Schedule.min([backoff, maxPause]).pipe(Schedule.upTo({ duration })),
      while: isTransient
    })
