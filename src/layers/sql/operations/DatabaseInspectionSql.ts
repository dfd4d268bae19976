import { Cause, Clock, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import type { DatabaseStatus } from "../../../domain/operations/Status.ts"
import { rootCauseMessage } from "../../../domain/rootCause.ts"
import { DatabaseInspection } from "../../../services/operations/DatabaseInspection.ts"
import * as Migrations from "../Migrations.ts"
import { rowOf } from "../Rows.ts"

const facts = rowOf(
  Schema.Struct({
    version: Schema.String,
    takes_writes: Schema.Boolean,
    durable: Schema.Boolean,
    size_bytes: Schema.BigInt,
    used: Schema.Int,
    max: Schema.Int,
    now_ms: Schema.BigInt
  })
)

type Kind = DatabaseStatus["kind"]

const unreachable = (kind: Kind, cause: Cause.Cause<unknown>): DatabaseStatus => {
  const error = Cause.squash(cause)
  return {
    kind,
    reachable: false,
    reason: rootCauseMessage(SqlError.isSqlError(error) ? error.reason : error),
    version: null,
    takes_writes: null,
    durable: null,
    size_bytes: null,
    connections: null,
    skew_ms: null
  }
}

const look = (sql: SqlClient.SqlClient, kind: Kind) =>
  Effect.gen(function* () {
    const sentAt = yield* Clock.currentTimeMillis
    const row = yield* facts(sql`
      select split_part(current_setting('server_version'), ' ', 1) as version,
        not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as takes_writes,
        current_setting('fsync') = 'on' and current_setting('synchronous_commit') <> 'off' as durable,
        pg_database_size(current_database()) as size_bytes,
        (select sum(numbackends) from pg_stat_database)::int as used,
        current_setting('max_connections')::int as max,
        (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms`)
    const answeredAt = yield* Clock.currentTimeMillis
    if (row === undefined) return yield* Effect.die(new Error("a select without a table has no row"))
    const database: DatabaseStatus = {
      kind,
      reachable: true,
      reason: null,
      version: row.version,
      takes_writes: row.takes_writes,
      durable: kind === "embedded" ? null : row.durable,
      size_bytes: Number(row.size_bytes),
      connections: kind === "embedded" ? null : { used: row.used, max: row.max },
      skew_ms: kind === "embedded" ? null : Math.round((sentAt + answeredAt) / 2) - Number(row.now_ms)
    }
    return { database, migrations: yield* Effect.provideService(Migrations.state, SqlClient.SqlClient, sql) }
  }).pipe(Effect.catchCause((cause) => Effect.succeed({ database: unreachable(kind, cause), migrations: null })))

export const layer = (kind: Kind): Layer.Layer<DatabaseInspection, never, SqlClient.SqlClient> =>
  Layer.effect(
    DatabaseInspection,
    Effect.map(SqlClient.SqlClient, (sql) => DatabaseInspection.of({ look: look(sql, kind) }))
  )
