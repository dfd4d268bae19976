import { type Duration, Effect, Predicate, Schedule } from "effect"
import type { SqlError } from "effect/sql"
import { Unanswered } from "./StatementLimit.ts"

/**
 * States in which the server is going away, coming up, or only copies another, which the client files under unknown
 * errors.
 */
const goingAway: ReadonlySet<unknown> = new Set(["57P01", "57P02", "57P03", "53300", "25006"])

/** The whole of a statement's time went by. Whether it was carried out is not known, as after a lost connection. */
const isUnanswered = ({ reason }: SqlError.SqlError): boolean => reason.cause instanceof Unanswered

/**
 * Whether the statement may well succeed when it is sent again: a lost connection, a deadlock, a serialization failure.
 * What waited for as long as a statement may take has waited long enough.
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
/** A server that takes connections and says nothing costs seconds a time. */
const maxRetryTime = "3 seconds"
const backoff = Schedule.exponential("20 millis").pipe(Schedule.jittered)
const briefly = Schedule.upTo(backoff, { times: maxRetries, duration: maxRetryTime })

/** Sends again what failed in passing. The statement must be one that may run twice: its first answer can be lost. */
export const retryTransient = <A, R>(effect: Effect.Effect<A, SqlError.SqlError, R>) =>
  Effect.retry(effect, { schedule: briefly, while: isTransient })

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
      while: (error) => isTransient(error) || isUnanswered(error)
    })
