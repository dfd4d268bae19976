import { Effect, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { type Dropped, droppedError, dropReasons } from "../../../services/webhooks/EventBooks.ts"
import { countOf, rowsOf } from "../Rows.ts"

const maxDropped = 5_000

export const dropPending = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  reason: keyof typeof droppedError,
  which: Statement.Fragment
) {
  let total = 0
  while (true) {
    const count = yield* countOf(sql`
      with dropped as (
        update event_deliveries set status = 'failed', is_taken = false, error = ${droppedError[reason]}
        where id in (select id from event_deliveries where status = 'pending' and ${which} limit ${maxDropped})
          and status = 'pending'
        returning account_id, endpoint_id
      ), noted as (
        insert into event_drops (account_id, endpoint_id, reason, deliveries)
        select account_id, endpoint_id, ${reason}, count(*) from dropped group by account_id, endpoint_id
      )
      select count(*)::int as count from dropped`)
    total += count
    if (count < maxDropped) return total
  }
})

const droppedRows = rowsOf(
  Schema.Struct({
    account_id: Schema.String,
    endpoint_id: Schema.NullOr(Schema.String),
    reason: Schema.Literals(dropReasons),
    deliveries: Schema.Int
  })
)

export const collectDropped = (sql: SqlClient.SqlClient, limit: number) =>
  Effect.map(
    droppedRows(sql`
      with collected as (
        delete from event_drops
        where id in (select id from event_drops order by id limit ${limit} for update skip locked)
        returning account_id, endpoint_id, reason, deliveries
      )
      select account_id, endpoint_id, reason, sum(deliveries)::int as deliveries from collected
      group by account_id, endpoint_id, reason`),
    (rows) =>
      rows.map(
        ({ account_id: accountId, deliveries, endpoint_id: endpointId, reason }): Dropped => ({
          accountId,
          endpointId: endpointId ?? undefined,
          reason,
          deliveries
        })
      )
  )
