import { Schema } from "effect"
import { soldPlans } from "../../../domain/billing/Purchase.ts"
import type { BookedSubscription } from "../../../domain/billing/Subscription.ts"
import type { BookedOrder } from "../../../services/billing/BillingBooks.ts"
import { columnsOf } from "../Rows.ts"

const SoldPlan = Schema.Literals(soldPlans)

/** Plan changes within a period that came without an order. */
const Steps = Schema.Array(Schema.Struct({ plan: SoldPlan, at: Schema.Number }))

export const SubscriptionRow = Schema.Struct({
  id: Schema.String,
  account_id: Schema.String,
  plan: SoldPlan,
  status: Schema.Literals(["active", "past_due", "ended"]),
  period_start: Schema.Date,
  period_end: Schema.Date,
  started_at: Schema.Date,
  cancel_at_period_end: Schema.Boolean,
  pending_plan: Schema.NullOr(SoldPlan),
  pending_at: Schema.NullOr(Schema.Date),
  past_due_at: Schema.NullOr(Schema.Date),
  modified_at: Schema.Date,
  first_plan: SoldPlan,
  steps: Steps
})
export type SubscriptionRow = typeof SubscriptionRow.Type
export const subscriptionColumns = columnsOf(SubscriptionRow)

export const toBookedSubscription = (row: SubscriptionRow): BookedSubscription => ({
  subscription: {
    id: row.id,
    plan: row.plan,
    status: row.status,
    period: { start: row.period_start.getTime(), end: row.period_end.getTime() },
    startedAt: row.started_at.getTime(),
    cancelAtPeriodEnd: row.cancel_at_period_end,
    pending:
      row.pending_plan === null || row.pending_at === null
        ? undefined
        : { plan: row.pending_plan, at: row.pending_at.getTime() },
    pastDueAt: row.past_due_at?.getTime(),
    modifiedAt: row.modified_at.getTime()
  },
  sight: { periodStart: row.period_start.getTime(), first: row.first_plan, steps: row.steps }
})

export const OrderRow = Schema.Struct({
  id: Schema.String,
  account_id: Schema.String,
  kind: Schema.Literals(["pack", "plan"]),
  status: Schema.Literals(["pending", "paid", "void"]),
  net_cents: Schema.BigInt,
  refunded_cents: Schema.BigInt,
  granted: Schema.BigInt,
  taken_back: Schema.BigInt,
  changes: Schema.Int,
  is_dispute_lost: Schema.Boolean,
  reading: Schema.BigInt,
  created_at: Schema.Date
})
export type OrderRow = typeof OrderRow.Type

export const toBookedOrder = (row: OrderRow): BookedOrder => ({
  id: row.id,
  accountId: row.account_id,
  kind: row.kind,
  status: row.status,
  netCents: Number(row.net_cents),
  refundedCents: Number(row.refunded_cents),
  granted: Number(row.granted),
  takenBack: Number(row.taken_back),
  isDisputeLost: row.is_dispute_lost,
  createdAt: row.created_at.getTime()
})
