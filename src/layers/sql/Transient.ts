import { type Duration, Effect, Predicate, Schedule } from "effect"
import { SqlError } from "effect/sql"
import { Unanswered } from "./store/StatementLimit.ts"

/** Codes for shutdown, startup, too many connections, and read-only mode, which the client does not recognize. */
const goingAway: ReadonlySet<unknown> = new Set(["57P01", "57P02", "57P03", "53300", "25006"])

/** True for a statement that timed out. Like after a lost connection, it may or may not have run. */
const isUnanswered = ({ reason }: SqlError.SqlError): boolean => reason.cause instanceof Unanswered

/**
 * True if the same statement may succeed when retried: after a lost connection, a deadlock, or a serialization failure.
 * False for a statement that timed out, because its caller has waited long enough.
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
/** A single attempt takes seconds if the server accepts connections but does not respond. */
const maxRetryTime = "3 seconds"
const backoff = Schedule.exponential("20 millis").pipe(Schedule.jittered)
const briefly = Schedule.upTo(backoff, { times: maxRetries, duration: maxRetryTime })

/** Retries a statement after a transient error. The statement must be idempotent: its first response may be lost. */
export const retryTransient = <A, E, R>(effect: Effect.Effect<A, E | SqlError.SqlError, R>) =>
  Effect.retry(effect, { schedule: briefly, while: (error) => SqlError.isSqlError(error) && isTransient(error) })

const maxPause = Schedule.spaced("500 millis")

/**
 * For statements that must not be reported as failed if they were committed: after a lost connection, only a retry can
 * tell.
 */
export const retryUntilKnown =
  (duration: Duration.Duration) =>
  <A, R>(effect: Effect.Effect<A, SqlError.SqlError, R>) =>
    Effect.retry(effect, {
      schedule: Schedule.min([backoff, maxPause]).pipe(Schedule.upTo({ duration })),
      while: (error) => isTransient(error) || isUnanswered(error)
    })
