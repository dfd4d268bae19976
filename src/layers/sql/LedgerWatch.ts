import { Duration, Effect, Layer, Metric, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { holdsOpen, holdsOverdue, ledgerChecks, ledgerDiscrepancies } from "../../services/Metrics.ts"
import { newestDiscrepancies } from "./Verification.ts"

/** Every replica tells of the database's holds, so that one that is gone does not hide them. */
const countInterval = Duration.seconds(15)
const checkInterval = Duration.minutes(1)

/**
 * Watches the books for as long as the service runs, and says what does not add up in metrics and logs. It changes
 * nothing: whoever finds a discrepancy must see it as it is.
 */
export const layer: Layer.Layer<never, never, SqlClient.SqlClient> = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const countHolds = Effect.gen(function* () {
      const [row] = yield* sql<{ readonly open: bigint; readonly overdue: bigint }>`
        select count(*) as open, count(*) filter (where expires_at < clock_timestamp()) as overdue from holds`
      yield* Metric.update(holdsOpen.of(), Number(row?.open ?? 0))
      yield* Metric.update(holdsOverdue.of(), Number(row?.overdue ?? 0))
    })

    const check = Effect.gen(function* () {
      const found = yield* newestDiscrepancies(sql)
      if (found === undefined) return
      yield* Metric.update(ledgerDiscrepancies.of(), found.length)
      yield* Metric.update(ledgerChecks.of(found.length === 0 ? "clean" : "discrepancies"), 1)
      for (const { accountId, expected, found: has, what } of found) {
        yield* Effect.logError(`The books do not add up for ${accountId}: ${what} is ${has} and should be ${expected}.`)
      }
    }).pipe(
      Effect.tapError(() => Metric.update(ledgerChecks.of("failed"), 1)),
      Effect.catchCause((cause) => Effect.logWarning("The newest entries of the books could not be checked.", cause))
    )

    yield* Effect.forkScoped(
      Effect.repeat(
        Effect.catchCause(countHolds, (cause) => Effect.logDebug("Holds could not be counted.", cause)),
        Schedule.spaced(countInterval)
      )
    )
    yield* Effect.forkScoped(Effect.repeat(check, Schedule.spaced(checkInterval)))
  })
)
