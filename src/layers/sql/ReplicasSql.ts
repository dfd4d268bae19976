import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { phases } from "../../domain/CoolDown.ts"
import { refusalReasons } from "../../domain/Refusal.ts"
import { forgetAfterMs, type Heartbeat, maxReplicas, type Replica, Replicas } from "../../services/Replicas.ts"
import { rowsOf } from "./Rows.ts"
import { retryTransient } from "./Transient.ts"

const VitalsJson = Schema.Struct({
  redis: Schema.Literals(["off", "answers", "away"]),
  pool: Schema.NullOr(Schema.Struct({ max: Schema.Number, used: Schema.Number, waiting: Schema.Number })),
  providers: Schema.Array(
    Schema.Struct({
      provider: Schema.String,
      engine: Schema.NullOr(Schema.String),
      phase: Schema.Literals(phases),
      lastSuccessAt: Schema.NullOr(Schema.Number),
      lastRefusal: Schema.NullOr(Schema.Struct({ at: Schema.Number, reason: Schema.Literals(refusalReasons) })),
      p95Ms: Schema.NullOr(Schema.Number)
    })
  )
})

const decodeVitals = Schema.decodeUnknownOption(VitalsJson)

const ReplicaRow = Schema.Struct({
  id: Schema.String,
  host: Schema.String,
  version: Schema.String,
  started_at: Schema.Date,
  silent_ms: Schema.BigInt,
  skew_ms: Schema.BigInt,
  vitals: Schema.Unknown
})

const replicaRows = rowsOf(ReplicaRow)

const toReplica = (row: typeof ReplicaRow.Type): Replica => ({
  id: row.id,
  host: row.host,
  version: row.version,
  startedAt: row.started_at.getTime(),
  silentMs: Number(row.silent_ms),
  skewMs: Number(row.skew_ms),
  vitals: Option.getOrUndefined(decodeVitals(row.vitals))
})

/** One statement, so that a heartbeat costs one round trip. */
const beat = (sql: SqlClient.SqlClient, { host, id, now, startedAt, version, vitals }: Heartbeat) => sql`
  with forgotten as (
    delete from replicas where id <> ${id} and (
      seen_at < clock_timestamp() - ${forgetAfterMs}::bigint * interval '1 millisecond'
      or id in (select id from replicas order by seen_at desc offset ${maxReplicas - 1})
    )
  )
  insert into replicas (id, host, version, started_at, seen_at, skew_ms, vitals)
  values (
    ${id}, ${host}, ${version}, ${new Date(startedAt)}, clock_timestamp(),
    ${now}::bigint - (extract(epoch from clock_timestamp()) * 1000)::bigint, ${JSON.stringify(vitals)}::jsonb
  )
  on conflict (id) do update set
    seen_at = excluded.seen_at, skew_ms = excluded.skew_ms, vitals = excluded.vitals`

export const layer: Layer.Layer<Replicas, never, SqlClient.SqlClient> = Layer.effect(
  Replicas,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return Replicas.of({
      beat: (heartbeat) => Effect.orDie(Effect.asVoid(beat(sql, heartbeat))),
      leave: (id) => Effect.orDie(Effect.asVoid(sql`delete from replicas where id = ${id}`)),
      all: replicaRows(sql`
        select id, host, version, started_at, skew_ms, vitals,
          (extract(epoch from clock_timestamp() - seen_at) * 1000)::bigint as silent_ms
        from replicas order by started_at, id limit ${maxReplicas}`).pipe(
        retryTransient,
        Effect.map((rows) => rows.map(toReplica)),
        Effect.orDie
      )
    })
  })
)
