import { type Duration, Effect, Predicate, Schedule } from "effect"
import { SqlError } from "effect/sql"
import { Unanswered } from "./store/StatementLimit.ts"

/**
 * Codes for shutdown, startup, too many connections, read-only mode, and prepared statements that a pooler lost, which
 * the client does not recognize.
 */
const goingAway: ReadonlySet<unknown> = new Set(["57P01", "57P02", "57P03", "53300", "25006", "26000", "42P05"])

/** As after a lost connection, the statement may or may not have run. */
const isUnanswered = ({ reason }: SqlError.SqlError): boolean => reason.cause instanceof Unanswered

/** Excludes statements that timed out, because their callers have waited long enough. */
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

/** The statement must be idempotent, because its first response may have been lost. */
export const retryTransient = <A, E, R>(effect: Effect.Effect<A, E | SqlError.SqlError, R>) =>
  Effect.retry(effect, { schedule: briefly, while: (error) => SqlError.isSqlError(error) && isTransient(error) })

const maxPause = Schedule.spaced("500 millis")

/** After a lost connection, only a retry can show whether the statement was committed. */
export const retryUntilKnown =
  (duration: Duration.Duration) =>
  <A, R>(effect: Effect.Effect<A, SqlError.SqlError, R>) =>
    Effect.retry(effect, {
      schedule: Schedule.min([backoff, maxPause]).pipe(Schedule.upTo({ duration })),
      while: (error) => isTransient(error) || isUnanswered(error)
    })
