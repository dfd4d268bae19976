import { DateTime, Option, Schema } from "effect"
import { currency, type PackSize, packSizes, type SoldPlan, soldPlans } from "../../domain/billing/Purchase.ts"
import type { Dispute, Order, Page, Subscription } from "../../services/billing/PaymentProvider.ts"

export type PolarProducts = { readonly [P in SoldPlan | "pack"]: string }

/** Polar copies a checkout's metadata to the order and the subscription. */
export const metadataNames = {
  account: "quarry_account",
  kind: "quarry_kind",
  plan: "quarry_plan",
  credits: "quarry_credits",
  price: "quarry_price"
} as const

const Moment = Schema.DateTimeUtcFromString

/** An amount in cents. The limit keeps sums and products below 2^53. */
const Cents = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))

const Metadata = Schema.Record(Schema.String, Schema.Unknown)

const Stamps = { id: Schema.String, created_at: Moment, modified_at: Schema.NullOr(Moment) }

const Owner = Schema.Struct({ external_id: Schema.optionalKey(Schema.NullOr(Schema.String)) })

export const PolarSubscription = Schema.Struct({
  ...Stamps,
  status: Schema.String,
  current_period_start: Moment,
  current_period_end: Moment,
  cancel_at_period_end: Schema.Boolean,
  started_at: Schema.NullOr(Moment),
  ended_at: Schema.NullOr(Moment),
  past_due_at: Schema.optionalKey(Schema.NullOr(Moment)),
  customer_id: Schema.String,
  product_id: Schema.String,
  metadata: Metadata,
  customer: Owner,
  pending_update: Schema.NullOr(Schema.Struct({ applies_at: Moment, product_id: Schema.NullOr(Schema.String) }))
}).check(
  Schema.makeFilter(({ current_period_end, current_period_start }) =>
    DateTime.isGreaterThan(current_period_end, current_period_start)
  )
)
type PolarSubscription = typeof PolarSubscription.Type

export const PolarOrder = Schema.Struct({
  ...Stamps,
  status: Schema.String,
  billing_reason: Schema.String,
  net_amount: Schema.Int,
  refunded_amount: Cents,
  currency: Schema.String,
  customer_id: Schema.String,
  product_id: Schema.NullOr(Schema.String),
  subscription_id: Schema.NullOr(Schema.String),
  metadata: Metadata,
  customer: Owner
})
type PolarOrder = typeof PolarOrder.Type

export const PolarRefund = Schema.Struct({ ...Stamps, status: Schema.String, order_id: Schema.String })
export type PolarRefund = typeof PolarRefund.Type

export const PolarDispute = Schema.Struct({
  ...Stamps,
  status: Schema.String,
  order_id: Schema.String,
  amount: Cents
})
export type PolarDispute = typeof PolarDispute.Type

export const PolarCustomer = Schema.Struct({ id: Schema.String, ...Owner.fields, email: Schema.String })

const WebAddress = Schema.String.check(Schema.isPattern(/^https?:\/\/[^\s"<>]{1,2000}$/))

export const PolarCheckout = Schema.Struct({
  id: Schema.String,
  url: WebAddress,
  expires_at: Moment,
  customer_id: Schema.NullOr(Schema.String),
  metadata: Metadata
})

export const PolarCustomerSession = Schema.Struct({
  id: Schema.String,
  customer_portal_url: WebAddress,
  expires_at: Moment
})

const millis = DateTime.toEpochMillis
const millisOrNone = (moment: DateTime.Utc | null | undefined): number | undefined =>
  moment === null || moment === undefined ? undefined : millis(moment)

export const modifiedAt = ({ created_at, modified_at }: Pick<PolarRefund, "created_at" | "modified_at">): number =>
  millis(modified_at ?? created_at)

/** From our metadata, because a checkout may create a customer with a different external id, or none. */
export const accountOf = ({
  customer,
  metadata
}: {
  readonly metadata: typeof Metadata.Type
  readonly customer?: typeof Owner.Type
}): string | undefined => {
  const account = metadata[metadataNames.account]
  return typeof account === "string" ? account : (customer?.external_id ?? undefined)
}

const planOf = (products: PolarProducts, productId: string | null): SoldPlan | undefined =>
  soldPlans.find((plan) => products[plan] === productId)

const statusOf = (status: string): Subscription["status"] => {
  if (status === "active" || status === "trialing") return "active"
  return status === "past_due" ? "past_due" : "ended"
}

const pendingOf = (products: PolarProducts, { pending_update }: PolarSubscription): Subscription["pending"] => {
  const plan = pending_update === null ? undefined : planOf(products, pending_update.product_id)
  return pending_update === null || plan === undefined ? undefined : { plan, at: millis(pending_update.applies_at) }
}

export const toSubscription = (products: PolarProducts, from: PolarSubscription): Subscription => ({
  id: from.id,
  customerId: from.customer_id,
  accountId: accountOf(from),
  plan: planOf(products, from.product_id),
  status: statusOf(from.status),
  period: { start: millis(from.current_period_start), end: millis(from.current_period_end) },
  startedAt: millis(from.started_at ?? from.created_at),
  cancelAtPeriodEnd: from.cancel_at_period_end,
  pending: pendingOf(products, from),
  pastDueAt: millisOrNone(from.past_due_at),
  endedAt: millisOrNone(from.ended_at),
  modifiedAt: modifiedAt(from)
})

const reasons: { readonly [reason: string]: "create" | "cycle" | "update" | undefined } = {
  subscription_create: "create",
  subscription_cycle: "cycle",
  subscription_update: "update"
}

const PackMetadata = Schema.Struct({
  [metadataNames.credits]: Schema.Literals(packSizes),
  [metadataNames.price]: Cents.check(Schema.isGreaterThan(0))
})

const packOf = (from: PolarOrder): { readonly credits: PackSize; readonly quotedCents: number } | undefined =>
  Option.match(Schema.decodeUnknownOption(PackMetadata)(from.metadata), {
    onNone: () => undefined,
    onSome: (pack) => ({ credits: pack.quarry_credits, quotedCents: pack.quarry_price })
  })

const purchaseOf = (products: PolarProducts, from: PolarOrder): Order["purchase"] => {
  const plan = planOf(products, from.product_id)
  const reason = Object.hasOwn(reasons, from.billing_reason) ? reasons[from.billing_reason] : undefined
  if (plan !== undefined && reason !== undefined && from.subscription_id !== null) {
    return { kind: "plan", plan, subscriptionId: from.subscription_id, reason }
  }
  // Our checkouts use one currency. Other amounts cannot be compared with the quote.
  const pack = from.product_id === products.pack && from.currency === currency ? packOf(from) : undefined
  return pack === undefined ? { kind: "other" } : { kind: "pack", ...pack }
}

const paidStatuses = ["paid", "refunded", "partially_refunded"]

const orderStatusOf = (status: string): Order["status"] => {
  if (paidStatuses.includes(status)) return "paid"
  return status === "void" ? "void" : "pending"
}

export const toOrder = (products: PolarProducts, from: PolarOrder): Order => {
  // A downgrade refunds money, so its amount may be negative.
  const netCents = Math.max(from.net_amount, 0)
  const status = orderStatusOf(from.status)
  return {
    id: from.id,
    customerId: from.customer_id,
    accountId: accountOf(from),
    purchase: purchaseOf(products, from),
    status,
    netCents,
    refundedCents: status === "void" ? netCents : from.refunded_amount,
    createdAt: millis(from.created_at),
    modifiedAt: modifiedAt(from)
  }
}

const disputeStatuses: { readonly [status: string]: Dispute["status"] | undefined } = {
  lost: "lost",
  won: "won",
  prevented: "prevented"
}

export const toDispute = ({ amount, id, order_id, status }: PolarDispute): Dispute => ({
  id,
  orderId: order_id,
  status: (Object.hasOwn(disputeStatuses, status) ? disputeStatuses[status] : undefined) ?? "open",
  cents: amount
})

export const checkoutPage = ({ expires_at, id, url }: typeof PolarCheckout.Type): Page => ({
  id,
  url,
  expiresAt: millis(expires_at)
})

export const portalPage = ({ customer_portal_url, expires_at, id }: typeof PolarCustomerSession.Type): Page => ({
  id,
  url: customer_portal_url,
  expiresAt: millis(expires_at)
})
