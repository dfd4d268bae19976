import { Array as Arr, Duration, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { Outcome } from "../../domain/QueryRecord.ts"
import type { Safe, Target } from "../../domain/Target.ts"
import { type LoggedQuery, QueryLog } from "../../services/QueryLog.ts"
import { makePartitions } from "./Migrations.ts"
import { toColumns } from "./QueryRow.ts"
import { retryTransient } from "./Transient.ts"

export interface QueryLogOptions {
  /** How long entries are kept. They go by whole months. */
  readonly retention?: Duration.Duration | undefined
}

const defaultRetention = Duration.days(90)
const maintenanceInterval = Duration.hours(12)
/** A month that somebody reads (`ledger verify`) is in nobody's way, and waits to be dropped. */
const maintenanceRetry = Schedule.upTo(Schedule.spaced("1 minute"), { times: 30 })

interface Row {
  readonly id: string
  readonly account_id: string | null
  readonly key_id: string | null
  readonly batch_id: string | null
  readonly target: Target
  readonly query: string
  readonly geo: string
  readonly locale: string
  readonly page: number
  readonly num: number
  readonly safe: Safe
  readonly source: string
  readonly outcome: Outcome
  readonly credits: number
  readonly cached: boolean
  readonly provider: string | null
  readonly result_count: number
  readonly duration_ms: bigint
  readonly created_at: Date
}

/** The log in Postgres or PGlite. It makes and drops the log's months for as long as it lives. */
export const layer = (options: QueryLogOptions = {}): Layer.Layer<QueryLog, never, SqlClient.SqlClient> =>
  Layer.effect(
    QueryLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const retentionMs = Duration.toMillis(options.retention ?? defaultRetention)

      yield* makePartitions(sql).pipe(
        Effect.andThen(
          sql`select queries_drop_before(clock_timestamp() - ${retentionMs}::bigint * interval '1 millisecond')`
        ),
        Effect.retry(maintenanceRetry),
        Effect.catchCause((cause) => Effect.logWarning("The query log's months could not be maintained.", cause)),
        Effect.repeat(Schedule.spaced(maintenanceInterval)),
        Effect.forkScoped
      )

      return QueryLog.of({
        append: Effect.fn("QueryLog.append")(function* (records) {
          const rows = records.map(toColumns)
          if (Arr.isArrayNonEmpty(rows)) yield* sql`insert into queries ${sql.insert(rows)}`
        }, Effect.orDie),
        recent: Effect.fn("QueryLog.recent")(function* (accountId, limit) {
          const rows = yield* retryTransient(
            sql<Row>`
              select * from queries where account_id = ${accountId}
              order by created_at desc, ordinal desc limit ${limit}`
          )
          return rows.map(toLogged)
        }, Effect.orDie)
      })
    })
  )

const toLogged = (row: Row): LoggedQuery => ({
  id: row.id,
  accountId: row.account_id ?? undefined,
  keyId: row.key_id ?? undefined,
  batchId: row.batch_id ?? undefined,
  request: {
    target: row.target,
    query: row.query,
    geo: row.geo,
    locale: row.locale,
    page: row.page,
    num: row.num,
    safe: row.safe,
    source: row.source
  },
  outcome: row.outcome,
  credits: row.credits,
  cached: row.cached,
  provider: row.provider ?? undefined,
  resultCount: row.result_count,
  durationMs: Number(row.duration_ms),
  at: row.created_at.getTime()
})
