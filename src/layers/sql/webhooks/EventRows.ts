import { Schema } from "effect"
import { type Delivery, deliveryStatuses, type Endpoint, EventType } from "../../../domain/webhooks/Event.ts"
import { columnsOf } from "../Rows.ts"

const AnyType = Schema.Union([EventType, Schema.Literal("webhook.test")])

export const EndpointRow = Schema.Struct({
  id: Schema.String,
  account_id: Schema.String,
  url: Schema.String,
  types: Schema.Array(EventType),
  created_at: Schema.Date,
  failing_since: Schema.NullOr(Schema.Date),
  disabled_at: Schema.NullOr(Schema.Date),
  disabled_for: Schema.NullOr(Schema.Literals(["account", "failing", "gone"]))
})
export const endpointColumns = columnsOf(EndpointRow)

export const toEndpoint = (row: typeof EndpointRow.Type): Endpoint => ({
  id: row.id,
  accountId: row.account_id,
  url: row.url,
  types: row.types,
  createdAt: row.created_at.getTime(),
  failingSince: row.failing_since?.getTime(),
  disabledAt: row.disabled_at?.getTime(),
  disabledFor: row.disabled_for ?? undefined
})

export const eventFields = {
  event_id: Schema.String,
  account_id: Schema.String,
  type: AnyType,
  data: Schema.Record(Schema.String, Schema.Json),
  event_at: Schema.Date
}

export const toEvent = (row: { readonly [K in keyof typeof eventFields]: (typeof eventFields)[K]["Type"] }) => ({
  id: row.event_id,
  accountId: row.account_id,
  type: row.type,
  createdAt: row.event_at.getTime(),
  data: row.data
})

const deliveryFields = {
  id: Schema.String,
  status: Schema.Literals(deliveryStatuses),
  due_at: Schema.Date,
  attempts: Schema.Int,
  attempted_at: Schema.NullOr(Schema.Date),
  http_status: Schema.NullOr(Schema.Int),
  error: Schema.NullOr(Schema.String),
  duration_ms: Schema.NullOr(Schema.Int),
  created_at: Schema.Date
}
export const DeliveryRow = Schema.Struct({ ...deliveryFields, ...eventFields })

export const deliveryColumns = `${columnsOf({ fields: deliveryFields }, "d")}, e.id as event_id, e.account_id, e.type,
  e.data, e.created_at as event_at`

export const toDelivery = (row: typeof DeliveryRow.Type): Delivery => ({
  id: row.id,
  event: toEvent(row),
  status: row.status,
  attempts: row.attempts,
  createdAt: row.created_at.getTime(),
  attemptedAt: row.attempted_at?.getTime(),
  // A first attempt is due immediately, which the row stores as the minimum time.
  nextAttemptAt: row.status === "pending" ? Math.max(row.due_at.getTime(), row.created_at.getTime()) : undefined,
  httpStatus: row.http_status ?? undefined,
  error: row.error ?? undefined,
  durationMs: row.duration_ms ?? undefined
})
