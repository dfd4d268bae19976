import type { SoldSubscription } from "../../../domain/billing/Subscription.ts"
import { toMoment, toMomentOrNull } from "../../../domain/requests/fields.ts"
import type { BilledAccount, BookedOrder } from "../../billing/BillingBooks.ts"

export const subscriptionJson = (subscription: SoldSubscription) => ({
  id: subscription.id,
  status: subscription.status,
  plan: subscription.plan,
  current_period_start: toMoment(subscription.period.start),
  current_period_end: toMoment(subscription.period.end),
  cancel_at_period_end: subscription.cancelAtPeriodEnd,
  pending_plan: subscription.pending?.plan ?? null,
  pending_at: toMomentOrNull(subscription.pending?.at),
  past_due_since: toMomentOrNull(subscription.pastDueAt)
})

const orderJson = (order: BookedOrder) => ({
  id: order.id,
  kind: order.kind,
  status: order.status,
  created_at: toMoment(order.createdAt),
  net_cents: order.netCents,
  refunded_cents: order.refundedCents,
  granted: order.granted,
  taken_back: order.takenBack,
  dispute_lost: order.isDisputeLost
})

export const billedJson = (accountId: string, account: BilledAccount, orders: ReadonlyArray<BookedOrder>) => ({
  account_id: accountId,
  customer_id: account.customerId ?? null,
  blocked_at: toMomentOrNull(account.blockedAt),
  balance: account.balance,
  owed: account.owed,
  subscriptions: account.subscriptions.map(subscriptionJson),
  orders: orders.map(orderJson)
})
