import { Duration, Effect, Schedule, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { untraced } from "../../../services/telemetry/Tracing.ts"
import { rowsOf } from "../Rows.ts"

/* A running load has a lease: a row of `document_loads` with this `load`, the load's id as `address`, and the time of
 * its latest renewal. A crashed load's lease expires. All times are the database's. */
const leases = "00000000-0000-0000-0000-000000000000"

/** Long enough for renewals that wait behind a segment, because the embedded database has a single connection. */
const leaseTime = Duration.seconds(60)
const renewalTime = Duration.seconds(15)

/** A condition for statements that read the index, so that they need no other. */
export const isLive = (sql: SqlClient.SqlClient) => sql`exists (
  select from document_loads where load = ${leases}::uuid
    and started_at > now() - make_interval(secs => ${Duration.toSeconds(leaseTime)}::integer))`

const liveRows = rowsOf(Schema.Struct({ is_loading: Schema.Boolean }))

export const isLoading = (sql: SqlClient.SqlClient): Effect.Effect<boolean> =>
  Effect.orDie(Effect.map(liveRows(sql`select ${isLive(sql)} as is_loading`), ([row]) => row?.is_loading === true))

const idRows = rowsOf(Schema.Struct({ id: Schema.String }))

const take = (sql: SqlClient.SqlClient) =>
  Effect.map(
    idRows(sql`
      insert into document_loads (load, address) values (${leases}::uuid, gen_random_uuid())
      returning address::text as id`),
    ([row]) => row?.id ?? ""
  )

/** Inserts the lease again if it is gone, because a load that was suspended for a day loses its row. */
const renew = (sql: SqlClient.SqlClient, id: string) => sql`
  insert into document_loads (load, address) values (${leases}::uuid, ${id}::uuid)
  on conflict (load, address) do update set started_at = now()`

const release = (sql: SqlClient.SqlClient, id: string) =>
  sql`delete from document_loads where load = ${leases}::uuid and address = ${id}::uuid`

/** A renewal that fails is repeated at the next one. A lease that cannot be released expires. */
export const whileLoading =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.acquireUseRelease(
      Effect.orDie(take(sql)),
      (id) => {
        const renewals = Effect.repeat(untraced(Effect.ignore(renew(sql, id))), Schedule.spaced(renewalTime))
        return Effect.raceFirst(work, Effect.andThen(Effect.delay(renewals, renewalTime), Effect.never))
      },
      (id) => Effect.ignore(release(sql, id))
    )
