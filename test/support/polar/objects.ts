/** The fake's own records. Times are Unix milliseconds, amounts are cents without tax. */

interface Stamped {
  readonly id: string
  readonly createdAt: number
  modifiedAt?: number | undefined
}

export type Metadata = Readonly<Record<string, string | number | boolean>>

export interface Product extends Stamped {
  readonly name: string
  readonly priceId: string
  /** Undefined for a one-time purchase. */
  interval: "month" | "year" | undefined
  cents: number
  currency: string
  isArchived: boolean
}

export interface Customer extends Stamped {
  externalId: string | undefined
  email: string
  /** What happens at the next payment. */
  card: "pays" | "declines"
  deletedAt: number | undefined
}

export interface Subscription extends Stamped {
  readonly customerId: string
  productId: string
  status: "active" | "past_due" | "canceled"
  start: number
  end: number
  /** Day of the month on which it started. A shorter month uses its last day (R31). */
  readonly anchorDay: number
  readonly startedAt: number
  cancelAtPeriodEnd: boolean
  canceledAt: number | undefined
  endedAt: number | undefined
  pastDueAt: number | undefined
  pending: (Stamped & { readonly productId: string; readonly appliesAt: number }) | undefined
  /** Cents of prorated changes, to be charged with the next invoice. */
  carriedCents: number
  readonly checkoutId: string | undefined
  readonly metadata: Metadata
  /** Number of further changes that fail with SubscriptionLocked. */
  locks: number
}

export interface Order extends Stamped {
  readonly customerId: string
  readonly productId: string
  readonly subscriptionId: string | undefined
  readonly checkoutId: string | undefined
  readonly reason: "purchase" | "subscription_create" | "subscription_cycle" | "subscription_update"
  readonly itemId: string
  readonly invoiceNumber: string
  readonly currency: string
  readonly netCents: number
  readonly taxCents: number
  readonly metadata: Metadata
  status: "pending" | "paid" | "refunded" | "partially_refunded" | "void"
  refundedCents: number
  nextAttemptAt: number | undefined
  /** Number of declined payments. */
  declined: number
}

export interface Refund extends Stamped {
  readonly orderId: string
  readonly cents: number
  readonly reason: string
  status: "pending" | "succeeded" | "failed"
}

export interface Dispute extends Stamped {
  readonly orderId: string
  readonly cents: number
  readonly paymentId: string
  status: "prevented" | "early_warning" | "needs_response" | "under_review" | "lost" | "won"
}

export interface Checkout extends Stamped {
  readonly clientSecret: string
  readonly productId: string
  readonly customerId: string | undefined
  readonly cents: number
  readonly isAdHoc: boolean
  readonly expiresAt: number
  readonly successUrl: string
  readonly returnUrl: string | undefined
  readonly address: string | undefined
  readonly metadata: Metadata
  status: "open" | "expired" | "succeeded"
}

export interface CustomerSession extends Stamped {
  readonly token: string
  readonly customerId: string
  readonly expiresAt: number
  readonly returnUrl: string | undefined
}
