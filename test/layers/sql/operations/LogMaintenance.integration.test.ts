import { assert, describe, layer } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Logger, Metric } from "effect"
import { SqlClient } from "effect/sql"
import * as LogMaintenance from "../../../../src/layers/sql/operations/LogMaintenance.ts"
import { QueryLog } from "../../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { Audit } from "../../../../src/services/operations/Audit.ts"
import { LogRetention } from "../../../../src/services/operations/LogRetention.ts"
import { logMonthsDropped } from "../../../../src/services/telemetry/Metrics.ts"
import { discrepanciesOf, makeAccount, makeRecord } from "../../../support/api/searches.ts"
import * as EmbeddedDatabase from "../../../support/stores/EmbeddedDatabase.ts"
import * as Postgres from "../../../support/stores/Postgres.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"

const dayMs = 86_400_000

const stored = Effect.flatMap(LogRetention, ({ look }) =>
  Effect.map(look, ({ retentionMs }) => (retentionMs ?? 0) / dayMs)
)

/** A start of a server, with the retention in its settings or without. */
const start = (retention?: Duration.Input) =>
  Effect.scoped(
    Layer.build(
      LogMaintenance.layer({ retention: retention === undefined ? undefined : Duration.fromInputUnsafe(retention) })
    )
  )

const audited = (command: string) =>
  Effect.flatMap(Audit, (audit) =>
    Effect.map(
      audit.list({
        ...{ operator: "server", command, subject: undefined, from: undefined, to: undefined, before: undefined },
        limit: 100
      }),
      (entries) => entries.map(({ arguments: all, subject }): Record<string, unknown> => ({ ...all, subject }))
    )
  )

/** An account with a charged search as many months ago. */
const searched = Effect.fnUntraced(function* (monthsAgo: number) {
  const sql = yield* SqlClient.SqlClient
  const account = yield* makeAccount({ plan: "growth" })
  const ledger = yield* Ledger
  yield* ledger.settle(yield* ledger.reserve(account, 1), [yield* makeRecord(account)])
  yield* sql`select queries_make_partitions(clock_timestamp() - ${monthsAgo} * interval '1 month', 1)`
  yield* sql`
    update queries set created_at = created_at - ${monthsAgo} * interval '1 month' where account_id = ${account.id}`
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`alter table ledger_entries disable trigger ledger_entries_append_only`
      yield* sql`
        update ledger_entries set created_at = created_at - ${monthsAgo} * interval '1 month'
        where account_id = ${account.id}`
      yield* sql`alter table ledger_entries enable trigger ledger_entries_append_only`
    })
  )
  return account
})

const logOf = (accountId: string) => Effect.flatMap(QueryLog, (log) => log.recent(accountId, 10))

const isolated = Effect.provideServiceEffect(
  Metric.MetricRegistry,
  Effect.sync(() => new Map())
)

const suite = <E>(name: string, database: Layer.Layer<SqlClient.SqlClient, E>) => {
  layer(SqlStorage.layer(database), { excludeTestServices: true, timeout: "60 seconds" })(name, (it) => {
    it.effect("R74: QUERY_LOG_RETENTION is stored if none is, or lengthens it, and never shortens it", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const retention = yield* LogRetention
        yield* start()
        assert.strictEqual(yield* stored, 90)
        yield* start("365 days")
        assert.strictEqual(yield* stored, 365)
        yield* start("30 days")
        assert.strictEqual(yield* stored, 365)
        yield* start()
        assert.strictEqual(yield* stored, 365)
        yield* retention.set(30 * dayMs)
        yield* start()
        assert.strictEqual(yield* stored, 30)
        yield* sql`update log_upkeep set retention_ms = null`
        yield* start("12.5 days")
        assert.strictEqual(yield* stored, 12.5)
        assert.deepStrictEqual(yield* audited("retention set"), [
          { retention_days: 12.5, previous_days: null, subject: undefined },
          { retention_days: 365, previous_days: 90, subject: undefined },
          { retention_days: 90, previous_days: null, subject: undefined }
        ])
      })
    )

    it.effect("R74, I2: each month past the retention is dropped, logged, audited and counted; the books agree", () =>
      Effect.gen(function* () {
        const lines: Array<string> = []
        const logger = Logger.make(({ message }) => void lines.push(String(message)))
        const accounts = { old: yield* searched(7), older: yield* searched(8), recent: yield* searched(2) }
        yield* (yield* LogRetention).set(120 * dayMs)
        const months = Effect.map(
          Effect.flatMap(LogRetention, ({ look }) => look),
          ({ months }) => months.map(({ name }) => name)
        )
        const before = yield* months
        const built = yield* Effect.forkChild(
          Effect.scoped(
            Effect.andThen(
              Layer.build(LogMaintenance.layer()).pipe(Effect.provide(Logger.layer([logger]))),
              Effect.repeat(months, { until: () => lines.filter((line) => line.startsWith("Dropped")).length === 2 })
            )
          )
        )
        const left = yield* Fiber.join(built)
        const dropped = before.slice(0, 2).map((month) => `queries_${month.replace("-", "_")}`)
        assert.deepStrictEqual(left, before.slice(2))
        assert.deepStrictEqual(
          lines.filter((line) => line.startsWith("Dropped")),
          dropped.map((name) => `Dropped ${name}: the month is older than the query log's retention.`)
        )
        assert.deepStrictEqual(
          (yield* audited("retention drop")).map(({ retention_days, subject }: Record<string, unknown>) => [
            subject,
            retention_days
          ]),
          dropped.toReversed().map((name) => [name, 120])
        )
        assert.strictEqual((yield* Metric.value(logMonthsDropped.of())).count, 2)
        assert.deepStrictEqual(yield* logOf(accounts.old.id), [])
        assert.lengthOf(yield* logOf(accounts.recent.id), 1)
        for (const account of Object.values(accounts)) assert.deepStrictEqual(yield* discrepanciesOf(account), [])
      }).pipe(isolated)
    )

    it.effect("a search in a month without a partition is logged, and goes with the months that are over", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const account = yield* makeAccount({ plan: "growth" })
        const log = yield* QueryLog
        yield* log.append([{ ...(yield* makeRecord(account)), credits: 0 }])
        yield* sql`update queries set created_at = now() - interval '3 years' where account_id = ${account.id}`
        assert.strictEqual((yield* sql`select from queries_default where account_id = ${account.id}`).length, 1)
        yield* LogMaintenance.dropMonths(sql)
        assert.deepStrictEqual(yield* logOf(account.id), [])
      })
    )
  })
}

describe("LogMaintenance", () => {
  suite("on the embedded database", EmbeddedDatabase.layer)
})

Postgres.describeWithPostgres("LogMaintenance on Postgres", () => {
  suite("on a server", Postgres.layer)
})
