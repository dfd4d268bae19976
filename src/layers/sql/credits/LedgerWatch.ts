import { Duration, Effect, Layer, Metric, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { runRepeatedly } from "../../../services/background.ts"
import type { Discrepancy } from "../../../services/credits/Ledger.ts"
import {
  holdsOpen,
  holdsOverdue,
  ledgerChecks,
  ledgerDiscrepancies,
  ledgerProblems,
  ledgerVerifiedAccounts,
  ledgerVerifiedAt,
  ledgerVerifiedIn
} from "../../../services/telemetry/Metrics.ts"
import { rowOf } from "../Rows.ts"
import { kindOf, newestDiscrepancies } from "./Verification.ts"
import * as VerificationRuns from "./VerificationRuns.ts"

/** Every replica reports the holds of the whole database, so that the metric survives the loss of a replica. */
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

const log = ({ accountId, expected, found, what }: Discrepancy) =>
  Effect.logError(`The books do not add up for ${accountId}: ${what} is ${found} and should be ${expected}.`)

const check = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const discrepancies = yield* newestDiscrepancies(sql)
    if (discrepancies === undefined) return
    for (const kind of ["quota", "balance", "log"] as const) {
      const found = discrepancies.filter((discrepancy) => kindOf(discrepancy) === kind)
      yield* Metric.update(ledgerDiscrepancies.of(kind), found.length)
    }
    yield* Metric.update(ledgerChecks.of(discrepancies.length === 0 ? "clean" : "discrepancies"), 1)
    yield* Effect.forEach(discrepancies, log, { discard: true })
  }).pipe(
    Effect.tapError(() => Metric.update(ledgerChecks.of("failed"), 1)),
    Effect.catchCause((cause) => Effect.logWarning("The newest entries of the books could not be checked.", cause))
  )

/** Reports the last run of any replica, so that its age is known after a restart. */
const reportLastRun = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const last = yield* VerificationRuns.readLast(sql)
    yield* Metric.update(ledgerVerifiedAt.of(), (last?.finished_at.getTime() ?? 0) / 1000)
    yield* Metric.update(ledgerVerifiedIn.of(), last?.seconds ?? 0)
    yield* Metric.update(ledgerVerifiedAccounts.of(), Number(last?.accounts ?? 0))
    yield* Metric.update(ledgerProblems.of("quota"), Number(last?.quota_problems ?? 0))
    yield* Metric.update(ledgerProblems.of("balance"), Number(last?.balance_problems ?? 0))
    yield* Metric.update(ledgerProblems.of("log"), Number(last?.log_problems ?? 0))
    yield* Metric.update(ledgerProblems.of("closed"), Number(last?.closed_problems ?? 0))
  })

/** The metric counts all, and `ledger verify` lists them. */
const maxLogged = 100

const verifyNightly = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const night = yield* VerificationRuns.takeNight(sql)
    if (night !== undefined) {
      const { accounts, discrepancies } = yield* VerificationRuns.verify(sql, { isFull: false, night: night.id })
      yield* Effect.logInfo(`Verified the ledger. Accounts: ${accounts}. Discrepancies: ${discrepancies.length}.`)
      yield* Effect.forEach(discrepancies.slice(0, maxLogged), log, { discard: true })
    }
    yield* reportLastRun(sql)
  }).pipe(
    Effect.catchCause((cause) => Effect.logWarning("The books could not be verified. This will be retried.", cause))
  )

/** Repairs nothing, so that operators see the books as they were. */
export const layer: Layer.Layer<never, never, SqlClient.SqlClient> = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* runRepeatedly(countHolds(sql), countInterval)
    yield* runRepeatedly(check(sql), checkInterval)
    yield* runRepeatedly(verifyNightly(sql), checkInterval)
  })
)
