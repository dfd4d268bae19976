import { Cause, Clock, Effect, Exit, Metric, Option, Predicate, Scope } from "effect"
import type { SqlConnection, SqlError } from "effect/sql"
import { observe, secondsSince } from "../../../services/telemetry/Instrument.ts"
import {
  databaseConnections,
  databaseDuration,
  databaseMax,
  databasePending,
  databaseWait
} from "../../../services/telemetry/Metrics.ts"
import { aroundStatements } from "./AroundStatements.ts"
import { Unanswered } from "./StatementLimit.ts"

const system = "postgresql"

/** Codes that the client does not recognize, named as in Postgres's appendix A. Each needs a different fix. */
const conditions: Readonly<Record<string, string>> = {
  "25006": "read_only_sql_transaction",
  "53100": "disk_full",
  "53200": "out_of_memory",
  "53300": "too_many_connections",
  "57P01": "admin_shutdown",
  "57P02": "crash_shutdown",
  "57P03": "cannot_connect_now",
  "58030": "io_error"
}

const conditionOf = (error: unknown): string | undefined => {
  if (Predicate.hasProperty(error, "code") && typeof error.code === "string") return conditions[error.code]
  return Predicate.hasProperty(error, "cause") ? conditionOf(error.cause) : undefined
}

/** The label `error.type` of a statement. Empty if the statement succeeded. */
const errorType = (exit: Exit.Exit<unknown, SqlError.SqlError>): string => {
  if (Exit.isSuccess(exit)) return ""
  return Option.match(Cause.findErrorOption(exit.cause), {
    onNone: () => "interrupted",
    onSome: ({ reason }) =>
      reason.cause instanceof Unanswered ? "timeout" : (conditionOf(reason.cause) ?? reason._tag)
  })
}

const timed = <A, R>(effect: Effect.Effect<A, SqlError.SqlError, R>): Effect.Effect<A, SqlError.SqlError, R> =>
  Effect.flatMap(Clock.currentTimeNanos, (startedAt) =>
    Effect.onExit(effect, (exit) =>
      Effect.flatMap(secondsSince(startedAt), (seconds) =>
        Metric.update(databaseDuration.of(system, errorType(exit)), seconds)
      )
    )
  )

export const measured = Effect.fnUntraced(function* (acquirer: SqlConnection.Acquirer, poolSize: number) {
  let pending = 0
  let used = 0
  yield* observe(databasePending.of(system), () => pending)
  yield* observe(databaseConnections.of(system), () => used)
  yield* Metric.update(databaseMax.of(system), poolSize)

  const wait = Effect.suspend(() => {
    pending++
    return Effect.onExit(acquirer, (exit) => {
      pending--
      return Exit.isSuccess(exit) ? Effect.void : Effect.ignore(timed(Effect.failCause(exit.cause)))
    })
  })
  const release = Effect.sync(() => {
    used--
  })
  // `Effect.acquireRelease` would copy the fiber's context for each statement.
  const use = Effect.uninterruptible(
    Effect.flatMap(Effect.scope, (scope) => {
      used++
      return Scope.addFinalizer(scope, release)
    })
  )
  return Effect.gen(function* () {
    const startedAt = yield* Clock.currentTimeNanos
    const connection = yield* wait
    yield* use
    yield* Metric.update(databaseWait.of(system), yield* secondsSince(startedAt))
    return aroundStatements(connection, timed)
  })
})
