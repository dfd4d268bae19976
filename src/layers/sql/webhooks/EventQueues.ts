import { Effect, Schema } from "effect"
import { storeTime } from "../../../services/StoreClock.ts"
import { type AccountQueues, noSuchEndpoint } from "../../../services/webhooks/EventBooks.ts"
import { rowOf, rowsOf } from "../Rows.ts"
import { dieOnSqlError } from "../Transaction.ts"
import { retryTransient } from "../Transient.ts"
import { dropPending } from "./EventDrops.ts"
import { type Deps, findEndpoint } from "./EventEndpoints.ts"
import { EndpointRow, endpointColumns, toEndpoint } from "./EventRows.ts"

const pausedRow = rowOf(Schema.Struct({ webhooks_paused_at: Schema.NullOr(Schema.Date) }))
const queueRows = rowsOf(
  Schema.Struct({
    ...EndpointRow.fields,
    paused_at: Schema.NullOr(Schema.Date),
    queued: Schema.Int,
    failed: Schema.Int
  })
)

const queues = ({ sql }: Deps) =>
  Effect.fnUntraced(
    function* (accountId: string) {
      const account = yield* pausedRow(sql`select webhooks_paused_at from accounts where id = ${accountId}`)
      const rows = yield* queueRows(sql`
      select ${sql.literal(endpointColumns)}, paused_at, d.queued, d.failed
      from webhook_endpoints e cross join lateral (
        select count(*) filter (where status = 'pending')::int as queued,
          count(*) filter (where status = 'failed')::int as failed
        from event_deliveries where endpoint_id = e.id
      ) d
      where account_id = ${accountId} order by created_at desc, id`)
      const result: AccountQueues = {
        pausedAt: account?.webhooks_paused_at?.getTime(),
        webhooks: rows.map(({ failed, paused_at: pausedAt, queued, ...endpoint }) => ({
          endpoint: toEndpoint(endpoint),
          pausedAt: pausedAt?.getTime(),
          queued,
          failed
        }))
      }
      return result
    },
    retryTransient,
    Effect.orDie
  )

const pause = ({ clock, sql }: Deps) =>
  Effect.fn("EventBooks.pause")(function* (accountId: string, endpointId: string | undefined, isPaused: boolean) {
    const now = isPaused ? new Date(yield* storeTime(clock)) : null
    // Pausing again keeps the original time. A pause has no expiry.
    const changed = yield* endpointId === undefined
      ? sql`
            update accounts
            set webhooks_paused_at = case when ${isPaused}::boolean then coalesce(webhooks_paused_at, ${now}::timestamptz) end
            where id = ${accountId} and deleted_at is null returning id`
      : sql`
            update webhook_endpoints
            set paused_at = case when ${isPaused}::boolean then coalesce(paused_at, ${now}::timestamptz) end
            where id = ${endpointId} and account_id = ${accountId} returning id`
    if (changed.length === 0) return yield* noSuchEndpoint
  }, dieOnSqlError)

const drop = (deps: Deps) => {
  const { sql } = deps
  return Effect.fn("EventBooks.drop")(
    function* (accountId: string, endpointId: string | undefined) {
      if (endpointId !== undefined) yield* findEndpoint(deps, accountId, endpointId)
      const which = endpointId === undefined ? sql`endpoint_id is not null` : sql`endpoint_id = ${endpointId}`
      return yield* dropPending(sql, "operator", sql`account_id = ${accountId} and ${which}`)
    },
    retryTransient,
    dieOnSqlError
  )
}

export const make = (deps: Deps) => ({
  queues: queues(deps),
  pause: pause(deps),
  drop: drop(deps)
})
