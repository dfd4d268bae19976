import { type Duration, Effect, Predicate, Schedule } from "effect"
import type { SqlError } from "effect/sql"
import { Unanswered } from "./StatementLimit.ts"

/**
 * States in which the server is going away, coming up, or only copies another, which the client files under unknown
 * errors.
 */
const goingAway: ReadonlySet<unknown> = new Set(["57P01", "57P02", "57P03", "53300", "25006"])

/** Whether the statement may well succeed when it is sent again: a lost connection, a deadlock, a serialization failure. */
export const isTransient = ({ reason }: SqlError.SqlError): boolean => {
  switch (reason._tag) {
    case "ConnectionError":
      // Whoever waited for the whole limit has waited long enough.
      return !(reason.cause instanceof Unanswered)
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
/** A server that takes connections and says nothing costs seconds a time. */
const maxRetryTime = "3 seconds"
const backoff = Schedule.exponential("20 millis").pipe(Schedule.jittered)
const briefly = Schedule.upTo(backoff, { times: maxRetries, duration: maxRetryTime })

/** Sends again what failed in passing. The statement must be one that may run twice: its first answer can be lost. */
export const retryTransient = <A, R>(effect: Effect.Effect<A, SqlError.SqlError, R>) =>
  Effect.retry(effect, { schedule: briefly, while: isTransient })

const maxBackoff = Schedule.spaced("1 second")

/**
 * Sends again, for as long as `patience`, what may have been carried out without an answer: giving up would say that it
 * was not. As above, it must be one that may run twice.
 */
export const retryUntilAnswered = <A, R>(
  effect: Effect.Effect<A, SqlError.SqlError, R>,
  patience: Duration.Duration,
  provided: (error: SqlError.SqlError) => boolean = () => true
) =>
  Effect.retry(effect, {
    schedule: Schedule.upTo(Schedule.min([backoff, maxBackoff]), { duration: patience }),
    while: (error) => (isTransient(error) || error.isRetryable) && provided(error)
  })
