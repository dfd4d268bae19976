import { Duration, Effect, Layer, Metric, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { holdsOpen, holdsOverdue, ledgerChecks, ledgerDiscrepancies } from "../../services/Metrics.ts"
import { rowOf } from "./Rows.ts"
import { newestDiscrepancies } from "./Verification.ts"

/** Every replica reports the holds of the whole database: if one replica is gone, the others still do. */
const countInterval = Duration.seconds(15)
const checkInterval = Duration.minutes(1)

const countRow = rowOf(Schema.Struct({ open: Schema.BigInt, overdue: Schema.BigInt }))

const countHolds = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const row = yield* countRow(sql`
      select count(*) as open, count(*) filter (where expires_at < clock_timestamp()) as overdue from holds`)
    yield* Metric.update(holdsOpen.of(), Number(row?.open ?? 0))
    yield* Metric.update(holdsOverdue.of(), Number(row?.overdue ?? 0))
  }).pipe(Effect.catchCause((cause) => Effect.logDebug("Holds could not be counted.", cause)))

const check = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const discrepancies = yield* newestDiscrepancies(sql)
    if (discrepancies === undefined) return
    yield* Metric.update(ledgerDiscrepancies.of(), discrepancies.length)
    yield* Metric.update(ledgerChecks.of(discrepancies.length === 0 ? "clean" : "discrepancies"), 1)
    for (const { accountId, expected, found, what } of discrepancies) {
      yield* Effect.logError(`The books do not add up for ${accountId}: ${what} is ${found} and should be ${expected}.`)
    }
  }).pipe(
    Effect.tapError(() => Metric.update(ledgerChecks.of("failed"), 1)),
    Effect.catchCause((cause) => Effect.logWarning("The newest entries of the books could not be checked.", cause))
  )

/**
 * Watches the books while the service runs, and reports discrepancies in metrics and logs. It repairs nothing, so that
 * an operator finds the books as they were.
 */
export const layer: Layer.Layer<never, never, SqlClient.SqlClient> = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* Effect.forkScoped(Effect.repeat(countHolds(sql), Schedule.spaced(countInterval)))
    yield* Effect.forkScoped(Effect.repeat(check(sql), Schedule.spaced(checkInterval)))
  })
)
