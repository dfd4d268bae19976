import { Duration, Effect, Exit, Fiber, Predicate, Schedule } from "effect"
import { SqlError } from "effect/sql"

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

/**
 * How long an answer is waited for. The server itself gives up a statement sooner, so silence beyond that comes from a
 * connection that leads nowhere, as after a failover from a host that died: nothing else would end it for minutes.
 */
const answer = Duration.seconds(15)

const silence = new SqlError.SqlError({
  reason: new SqlError.ConnectionError({
    cause: new Error(`no answer within ${Duration.format(answer)}`),
    message: "The database is silent",
    operation: "execute"
  })
})

/**
 * Gives up a statement that is not answered in time, and with it its connection. It runs in a fiber of its own, which can
 * be interrupted also where the caller cannot.
 */
const answered = <A, R>(effect: Effect.Effect<A, SqlError.SqlError, R>) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkDetach(Effect.interruptible(effect))
      let late = false
      const timer = yield* Effect.sleep(answer).pipe(
        Effect.andThen(
          Effect.suspend(() => {
            late = true
            return Fiber.interrupt(fiber)
          })
        ),
        Effect.interruptible,
        Effect.forkDetach
      )
      const exit = yield* restore(Fiber.await(fiber)).pipe(
        Effect.onInterrupt(() => Fiber.interrupt(fiber)),
        Effect.ensuring(Effect.forkDetach(Fiber.interrupt(timer)))
      )
      return yield* late && Exit.hasInterrupts(exit) ? Effect.fail(silence) : exit
    })
  )

const maxRetries = 4
/** Beyond that the caller is told: each attempt may have taken the whole time for an answer. */
const maxRetrying = Duration.seconds(5)
const backoff = Schedule.exponential("20 millis").pipe(Schedule.jittered)

/** Sends again what failed in passing. The statement must be one that may run twice: its first answer can be lost. */
export const retryTransient = <A, R>(effect: Effect.Effect<A, SqlError.SqlError, R>) =>
  Effect.retry(answered(effect), {
    schedule: backoff.pipe(Schedule.upTo({ duration: maxRetrying, times: maxRetries })),
    while: isTransient
  })

const maxPause = Schedule.spaced("500 millis")

/**
 * Sends again what failed in passing until the database tells how it ended, for as long as given. For statements whose
 * caller must not be told that they failed when they did not: a lost connection leaves open whether they were committed.
 */
export const retryUntilKnown =
  (duration: Duration.Duration) =>
  <A, R>(effect: Effect.Effect<A, SqlError.SqlError, R>) =>
    Effect.retry(answered(effect), {
      schedule: Schedule.min([backoff, maxPause]).pipe(Schedule.upTo({ duration })),
      while: isTransient
    })
