import { Duration, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { silentAfterMs } from "../../../domain/operations/Status.ts"
import { heartbeatInterval } from "../../../services/operations/Heartbeat.ts"
import {
  forgetAfterMs,
  type Heartbeat,
  maxReplicas,
  type Replica,
  Replicas,
  Vitals
} from "../../../services/operations/Replicas.ts"
import { rowOf, rowsOf } from "../Rows.ts"
import { read } from "../Transaction.ts"

const decodeVitals = Schema.decodeUnknownOption(Vitals)

const ReplicaRow = Schema.Struct({
  id: Schema.String,
  host: Schema.String,
  address: Schema.NullOr(Schema.String),
  version: Schema.String,
  commit: Schema.NullOr(Schema.String),
  started_at: Schema.Date,
  seen_at: Schema.Date,
  silent_ms: Schema.BigInt,
  skew_ms: Schema.BigInt,
  vitals: Schema.Unknown
})

const replicaRows = rowsOf(ReplicaRow)

const toReplica = (row: typeof ReplicaRow.Type): Replica => ({
  id: row.id,
  host: row.host,
  address: row.address ?? undefined,
  version: row.version,
  commit: row.commit ?? undefined,
  startedAt: row.started_at.getTime(),
  seenAt: row.seen_at.getTime(),
  silentMs: Number(row.silent_ms),
  skewMs: Number(row.skew_ms),
  vitals: Option.getOrUndefined(decodeVitals(row.vitals))
})

/** A pause of the database counts for at most this long. Added to `heartbeatInterval`, it is below `silentAfterMs`. */
const maxWatchedMs = 1.5 * Duration.toMillis(heartbeatInterval)

/** Does not wait for a synchronous standby, because a missing standby would make every replica look silent. */
const beat = (sql: SqlClient.SqlClient, heartbeat: Heartbeat) => {
  const { address = null, commit = null, host, id, now, startedAt, version, vitals } = heartbeat
  return sql`
  with forgotten as (
    delete from replicas where id <> ${id} and (
      seen_at < clock_timestamp() - ${forgetAfterMs}::bigint * interval '1 millisecond'
      or id in (select id from replicas order by seen_at desc offset ${maxReplicas - 1})
    )
  )
  insert into replicas (id, host, address, version, commit, started_at, seen_at, watched_ms, skew_ms, vitals)
  select
    ${id}, ${host}, ${address}::text, ${version}, ${commit}::text, ${new Date(startedAt)}, clock_timestamp(),
    coalesce(max(watched_ms), 0) + least(
      coalesce((extract(epoch from clock_timestamp() - max(seen_at)) * 1000)::bigint, 0), ${maxWatchedMs}::bigint
    ),
    ${now}::bigint - (extract(epoch from clock_timestamp()) * 1000)::bigint, ${JSON.stringify(vitals)}::jsonb
  from (select set_config('synchronous_commit', 'off', true)) as s left join replicas on true
  on conflict (id) do update set
    address = excluded.address, seen_at = excluded.seen_at, watched_ms = excluded.watched_ms,
    skew_ms = excluded.skew_ms, vitals = excluded.vitals`
}

const forgottenRow = rowOf(Schema.Struct({ is_known: Schema.Boolean, is_forgotten: Schema.Boolean }))

const forget = (sql: SqlClient.SqlClient, id: string) =>
  forgottenRow(sql`
    with forgotten as (
      delete from replicas
      where id = ${id} and seen_at < clock_timestamp() - ${silentAfterMs}::bigint * interval '1 millisecond'
      returning id
    )
    select exists (select from replicas where id = ${id}) as is_known, exists (select from forgotten) as is_forgotten`)

export const layer: Layer.Layer<Replicas, never, SqlClient.SqlClient> = Layer.effect(
  Replicas,
  Effect.map(SqlClient.SqlClient, (sql) =>
    Replicas.of({
      beat: (heartbeat) => Effect.orDie(Effect.asVoid(beat(sql, heartbeat))),
      leave: (id) => Effect.orDie(Effect.asVoid(sql`delete from replicas where id = ${id}`)),
      forget: (id) =>
        Effect.orDie(
          Effect.map(forget(sql, id), (row) => {
            if (row?.is_forgotten === true) return "forgotten"
            return row?.is_known === true ? "running" : "unknown"
          })
        ),
      all: read(
        replicaRows(sql`
          select id, host, address, version, commit, started_at, seen_at, skew_ms, vitals,
            (extract(epoch from clock_timestamp() - seen_at) * 1000)::bigint as silent_ms
          from replicas order by started_at, id limit ${maxReplicas}`),
        (rows) => rows.map(toReplica)
      )
    })
  )
)
