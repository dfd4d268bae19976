import { type Duration, Effect, Predicate, Schedule } from "effect"
import { SqlError } from "effect/sql"
import { Unanswered } from "./store/StatementLimit.ts"

/** Codes of a server that shuts down, starts, has no connection left, or is read-only: unknown errors to the client. */
const goingAway: ReadonlySet<unknown> = new Set(["57P01", "57P02", "57P03", "53300", "25006"])

/** The statement had its whole time and may or may not have run, as after a lost connection. */
const isUnanswered = ({ reason }: SqlError.SqlError): boolean => reason.cause instanceof Unanswered

/**
 * True for errors after which the same statement may succeed: a lost connection, a deadlock, a serialization failure.
 * Not for a statement that had its whole time: its caller has waited long enough.
 */
export const isTransient = (error: SqlError.SqlError): boolean => {
  const { reason } = error
  switch (reason._tag) {
    case "ConnectionError":
      return !isUnanswered(error)
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
/** An attempt at a server that takes connections and does not answer takes seconds. */
const maxRetryTime = "3 seconds"
const backoff = Schedule.exponential("20 millis").pipe(Schedule.jittered)
const briefly = Schedule.upTo(backoff, { times: maxRetries, duration: maxRetryTime })

/** Sends a statement again after a transient error. It must be safe to run twice: its first answer can be lost. */
export const retryTransient = <A, E, R>(effect: Effect.Effect<A, E | SqlError.SqlError, R>) =>
  Effect.retry(effect, { schedule: briefly, while: (error) => SqlError.isSqlError(error) && isTransient(error) })

const maxPause = Schedule.spaced("500 millis")

/**
 * Sends a statement again until the database answers, for as long as given. For statements that must not be reported as
 * failed when they were committed, which after a lost connection nobody knows.
 */
export const retryUntilKnown =
  (duration: Duration.Duration) =>
  <A, R>(effect: Effect.Effect<A, SqlError.SqlError, R>) =>
    Effect.retry(effect, {
      schedule: Schedule.min([backoff, maxPause]).pipe(Schedule.upTo({ duration })),
      while: (error) => isTransient(error) || isUnanswered(error)
    })
