import { Duration, Effect, Layer, Metric, Schedule, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { durationText } from "../../../domain/durationText.ts"
import { ifActing, logFailure, runRepeatedly } from "../../../services/background.ts"
import { logMonthsDropped } from "../../../services/telemetry/Metrics.ts"
import { countHours } from "../credits/UsageHours.ts"
import { makePartitions } from "../Migrations.ts"
import { idRows, rowOf } from "../Rows.ts"
import { erase } from "../search/QueryLogSql.ts"
import { retryTransient } from "../Transient.ts"
import * as LogRetentionSql from "./LogRetentionSql.ts"

export interface LogMaintenanceOptions {
  /** Retention configured for this server. Undefined if it has no setting. */
  readonly retention?: Duration.Duration | undefined
  readonly monthsInterval?: Duration.Duration | undefined
  readonly hoursInterval?: Duration.Duration | undefined
}

const defaultMonthsInterval = Duration.hours(1)
const defaultHoursInterval = Duration.minutes(1)
const leftoversInterval = Duration.hours(12)
/** Time after an account's deletion during which its log is erased again. */
const eraseAgainFor = Duration.days(7)
/** Retries because a month cannot be dropped while a query reads it. */
const retry = Schedule.upTo(Schedule.spaced("1 minute"), { times: 30 })

const droppedRow = rowOf(Schema.Struct({ name: Schema.NullOr(Schema.String) }))

const adopt = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, setting: Duration.Duration | undefined) {
  const stored = yield* LogRetentionSql.adopt(sql, setting === undefined ? undefined : Duration.toMillis(setting))
  if (stored === undefined || stored.previous_ms === null) return
  const [before, now] = [stored.previous_ms, stored.retention_ms].map((ms) => durationText(Number(ms)))
  yield* Effect.logInfo(`The query log is kept for ${now} from now on. It was kept for ${before}.`)
})

/** Each month in its own transaction, to keep locks short. */
export const dropMonths = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  while (true) {
    const dropped = yield* droppedRow(sql`select queries_drop_month() as name`)
    if (dropped === undefined || dropped.name === null) return
    yield* Metric.update(logMonthsDropped.of(), 1)
    yield* Effect.logInfo(`Dropped ${dropped.name}: the month is older than the query log's retention.`)
  }
})

/** Accounts' events are kept for 400 days (R68). */
const dropActivity = (sql: SqlClient.SqlClient) => sql`select account_events_drop_months(clock_timestamp())`

/** A crash, or a search that was still running during the deletion, may leave texts behind. */
const eraseLeftovers = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const removed = yield* idRows(sql`
    select id from accounts
    where deleted_at > clock_timestamp() - ${Duration.toMillis(eraseAgainFor)}::bigint * interval '1 millisecond'`)
  yield* Effect.forEach(removed, ({ id }) => erase(sql)(id), { discard: true })
})

/** Runs only in the server (R74): a command with different settings must not drop parts of the log. */
export const layer = (
  options: LogMaintenanceOptions = {}
): Layer.Layer<never, SqlError.SqlError, SqlClient.SqlClient> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* retryTransient(adopt(sql, options.retention))
      yield* Metric.update(logMonthsDropped.of(), 0)
      const months = logFailure(
        Effect.retry(
          Effect.andThen(makePartitions(sql), ifActing(Effect.andThen(dropMonths(sql), dropActivity(sql)))),
          retry
        ),
        "The query log's months could not be created or dropped. This will be retried."
      )
      const leftovers = logFailure(eraseLeftovers(sql), "Texts of deleted accounts could not be erased.")
      const hours = logFailure(countHours(sql), "The log's hours could not be counted; usage reads the log instead.")
      yield* runRepeatedly(months, options.monthsInterval ?? defaultMonthsInterval)
      yield* ifActing(runRepeatedly(leftovers, leftoversInterval))
      yield* runRepeatedly(hours, options.hoursInterval ?? defaultHoursInterval)
    })
  )
