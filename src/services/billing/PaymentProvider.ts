import { Context, Data, type Duration, type Effect, type Redacted } from "effect"
import type { PackSize, SoldPlan } from "../../domain/billing/Purchase.ts"
import type { SoldSubscription } from "../../domain/billing/Subscription.ts"

/** Times are Unix milliseconds. */
export interface Subscription extends Omit<SoldSubscription, "plan"> {
  readonly customerId: string
  /** From the checkout's metadata, or else the customer's external ID. Undefined if Quarry did not create it. */
  readonly accountId: string | undefined
  readonly plan: SoldPlan | undefined
  readonly endedAt: number | undefined
}

/** Amounts are net of tax, in cents. */
export interface Order {
  readonly id: string
  readonly customerId: string
  readonly accountId: string | undefined
  readonly purchase:
    | { readonly kind: "pack"; readonly credits: number; readonly quotedCents: number }
    | {
        readonly kind: "plan"
        readonly plan: SoldPlan
        readonly subscriptionId: string
        readonly reason: "create" | "cycle" | "update"
      }
    /** Not created by Quarry. */
    | { readonly kind: "other" }
  readonly status: "pending" | "paid" | "void"
  readonly netCents: number
  /** All successful refunds together; the full amount of a void order that was paid. */
  readonly refundedCents: number
  readonly createdAt: number
  readonly modifiedAt: number
}

/** Only a lost dispute costs the operator money. */
export interface Dispute {
  readonly id: string
  readonly orderId: string
  readonly status: "open" | "lost" | "won" | "prevented"
  readonly cents: number
}

export interface Page {
  readonly id: string
  readonly url: string
  readonly expiresAt: number
}

export interface Buyer {
  readonly accountId: string
  readonly email: string
  readonly customerId: string
  /** The IP address from which the provider guesses currency and tax country. */
  readonly address: string | undefined
}

/** The object that a webhook delivery names. The rest of the delivery is not trusted (R37). */
export interface Nudge {
  /** The same for every attempt to deliver an event. */
  readonly deliveryId: string
  /** The provider's event name, for metrics. At most 64 characters. */
  readonly kind: string
  readonly object:
    | { readonly kind: "subscription" | "order" | "customer" | "checkout"; readonly id: string }
    | { readonly kind: "none" }
}

export class ProviderUnavailable extends Data.TaggedError("ProviderUnavailable")<{
  /** For the operator's log. Contains no customer data and no secrets. */
  readonly reason: string
  readonly retryAfter: Duration.Duration | undefined
}> {}

export class ProviderMissing extends Data.TaggedError("ProviderMissing")<{ readonly id: string }> {}

/** Nothing was charged or changed (R42). */
export class ProviderDeclined extends Data.TaggedError("ProviderDeclined") {}

/** Another change of the subscription is still running (R42). */
export class ProviderBusy extends Data.TaggedError("ProviderBusy") {}

/** Another account's customer has this email address (R42). */
export class CustomerTaken extends Data.TaggedError("CustomerTaken")<{ readonly customerId: string }> {}

export class DeliveryInvalid extends Data.TaggedError("DeliveryInvalid")<{ readonly reason: string }> {}

/** A finding of `billing check`, which the operator can fix. */
export interface Finding {
  readonly subject: "token" | "scopes" | "products" | "webhooks"
  readonly ok: boolean
  /** One line: what was found and, if it is wrong, what to do. */
  readonly message: string
}

/** The merchant of record. Reads are never cached, and searches do not depend on it. */
export class PaymentProvider extends Context.Service<
  PaymentProvider,
  {
    /** Creates the customer at the first purchase, or reuses that of a removed account with this address (R32, R42). */
    readonly customerOf: (
      accountId: string,
      email: string,
      /** True if the account was removed or is unknown. */
      isGone: (accountId: string) => Effect.Effect<boolean>
    ) => Effect.Effect<string, ProviderUnavailable | CustomerTaken>
    readonly openPlanCheckout: (buyer: Buyer, plan: SoldPlan) => Effect.Effect<Page, ProviderUnavailable>
    readonly openPackCheckout: (
      buyer: Buyer,
      pack: { readonly credits: PackSize; readonly cents: number }
    ) => Effect.Effect<Page, ProviderUnavailable>
    readonly checkout: (
      id: string
    ) => Effect.Effect<
      { readonly customerId: string | undefined; readonly accountId: string | undefined } | undefined,
      ProviderUnavailable
    >
    readonly openPortal: (customerId: string) => Effect.Effect<Page, ProviderUnavailable>
    /** Changes the plan. `now` charges the difference first and changes nothing if the payment is declined. */
    readonly changePlan: (
      subscriptionId: string,
      plan: SoldPlan,
      when: "now" | "period_end"
    ) => Effect.Effect<Subscription, ProviderUnavailable | ProviderDeclined | ProviderBusy | ProviderMissing>
    readonly callOffChange: (
      subscriptionId: string
    ) => Effect.Effect<Subscription, ProviderUnavailable | ProviderBusy | ProviderMissing>
    /** Cancels at the period's end, or reverts this. Idempotent. */
    readonly setCancellation: (
      subscriptionId: string,
      isCanceled: boolean
    ) => Effect.Effect<Subscription, ProviderUnavailable | ProviderBusy | ProviderMissing>
    readonly subscription: (id: string) => Effect.Effect<Subscription, ProviderUnavailable | ProviderMissing>
    readonly subscriptionsOf: (customerId: string) => Effect.Effect<ReadonlyArray<Subscription>, ProviderUnavailable>
    readonly openSubscriptions: Effect.Effect<ReadonlyArray<Subscription>, ProviderUnavailable>
    readonly order: (id: string) => Effect.Effect<Order, ProviderUnavailable | ProviderMissing>
    readonly ordersOf: (
      filter: { readonly customerId: string } | { readonly subscriptionId: string }
    ) => Effect.Effect<ReadonlyArray<Order>, ProviderUnavailable>
    /** `since` is in Unix milliseconds. */
    readonly ordersSince: (since: number) => Effect.Effect<ReadonlyArray<Order>, ProviderUnavailable>
    readonly refundedSince: (since: number) => Effect.Effect<ReadonlyArray<string>, ProviderUnavailable>
    /** Void orders, as far back as orders can be refunded. The provider does not list when they became void. */
    readonly voidOrders: Effect.Effect<ReadonlyArray<Order>, ProviderUnavailable>
    /** Disputes, newest first, as far back as chargebacks are possible. The provider sends no webhooks for them. */
    readonly disputes: Effect.Effect<ReadonlyArray<Dispute>, ProviderUnavailable>
    /** Ends the customer's subscriptions and removes personal data. Idempotent. */
    readonly removeCustomer: (customerId: string) => Effect.Effect<void, ProviderUnavailable>
    /** Verifies a delivery by its headers and raw body, in constant time. */
    readonly verify: (
      headers: Readonly<Record<string, string | undefined>>,
      body: Uint8Array
    ) => Effect.Effect<Nudge, DeliveryInvalid>
    readonly check: Effect.Effect<ReadonlyArray<Finding>, ProviderUnavailable>
  }
>()("quarry/services/billing/PaymentProvider") {}

/** Two during a rotation. */
export type SigningSecrets = ReadonlyArray<Redacted.Redacted<string>>
