import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { defaultRetentionMs } from "../../../domain/operations/LogMonth.ts"
import { LogRetention } from "../../../services/operations/LogRetention.ts"
import { rowOf, rowsOf } from "../Rows.ts"
import { retryTransient } from "../Transient.ts"

const upkeepRow = rowOf(Schema.Struct({ retention_ms: Schema.NullOr(Schema.BigInt), now: Schema.Date }))
const monthRows = rowsOf(
  Schema.Struct({
    name: Schema.String,
    next: Schema.Date,
    bytes: Schema.BigInt,
    searches: Schema.NullOr(Schema.BigInt)
  })
)

/** A month that is dropped meanwhile has no size. */
const look = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const row = yield* upkeepRow(sql`select retention_ms, clock_timestamp() as now from log_upkeep`)
    const months = yield* monthRows(sql`
      select to_char(month, 'YYYY-MM') as name, (month + interval '1 month')::timestamp at time zone 'utc' as next, bytes,
        searches
      from (
        select to_date(right(relname, 7), 'YYYY_MM') as month, coalesce(pg_total_relation_size(pg_class.oid), 0) as bytes,
          nullif(reltuples, -1)::bigint as searches
        from pg_inherits join pg_class on pg_class.oid = inhrelid
        where inhparent = 'queries'::regclass and relname ~ '^queries_[0-9]{4}_[0-9]{2}$'
      ) as t order by 1`)
    const retention = row?.retention_ms ?? null
    return {
      retentionMs: retention === null ? undefined : Number(retention),
      months: months.map(({ bytes, name, next, searches }) => ({
        name,
        end: next.getTime(),
        bytes: Number(bytes),
        searches: searches === null ? undefined : Number(searches)
      })),
      now: row?.now.getTime() ?? 0
    }
  })

const storedRow = rowOf(Schema.Struct({ previous_ms: Schema.NullOr(Schema.BigInt), retention_ms: Schema.BigInt }))

/** Stores and audits the first or a longer retention (R74), by default 90 days. Undefined if nothing changed. */
export const adopt = (sql: SqlClient.SqlClient, settingMs: number | undefined) =>
  storedRow(sql`
    with before as (
      select retention_ms from log_upkeep where retention_ms is null or retention_ms < ${settingMs ?? null}::bigint
      for update
    ), stored as (
      update log_upkeep u set retention_ms = ${settingMs ?? defaultRetentionMs}::bigint from before
      returning before.retention_ms as previous_ms, u.retention_ms
    ), recorded as (
      insert into audit_entries (operator, command, arguments)
      select 'server', 'retention set', jsonb_build_object(
        'retention_days', trim_scale(round(retention_ms / 86400000.0, 2)),
        'previous_days', trim_scale(round(previous_ms / 86400000.0, 2))
      )
      from stored
    )
    select previous_ms, retention_ms from stored`)

export const layer: Layer.Layer<LogRetention, never, SqlClient.SqlClient> = Layer.effect(
  LogRetention,
  Effect.map(SqlClient.SqlClient, (sql) =>
    LogRetention.of({
      look: Effect.orDie(retryTransient(look(sql))),
      set: (retentionMs) =>
        Effect.orDie(Effect.asVoid(sql`update log_upkeep set retention_ms = ${retentionMs}::bigint`))
    })
  )
)
