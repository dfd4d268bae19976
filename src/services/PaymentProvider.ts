import { Context, Data, type Duration, type Effect, type Redacted } from "effect"
import type { PackSize, SoldPlan } from "../domain/Purchase.ts"

/** A subscription as the provider has it. Times are Unix milliseconds. */
export interface Subscription {
  readonly id: string
  readonly customerId: string
  /** From the metadata that our checkout set, else the customer's external id. Undefined: not made by us. */
  readonly accountId: string | undefined
  /** Undefined where its product is none of ours. */
  readonly plan: SoldPlan | undefined
  /** `trialing` counts as active. `ended`: canceled and over, unpaid, incomplete, paused. */
  readonly status: "active" | "past_due" | "ended"
  readonly period: { readonly start: number; readonly end: number }
  readonly startedAt: number
  readonly cancelAtPeriodEnd: boolean
  /** A change that the provider makes at `at`. */
  readonly pending: { readonly plan: SoldPlan; readonly at: number } | undefined
  readonly pastDueAt: number | undefined
  readonly endedAt: number | undefined
  readonly modifiedAt: number
}

/** An order as the provider has it. Amounts are net of tax, in cents. */
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
    /** None of ours: left alone. */
    | { readonly kind: "other" }
  readonly status: "pending" | "paid" | "void"
  readonly netCents: number
  /** All succeeded refunds together; the whole of a void order that was paid. */
  readonly refundedCents: number
  readonly createdAt: number
  readonly modifiedAt: number
}

/** A dispute of an order. Only a lost one costs the operator money. */
export interface Dispute {
  readonly id: string
  readonly orderId: string
  readonly status: "open" | "lost" | "won" | "prevented"
  readonly cents: number
}

/** A page of the provider on which a person pays or manages payments. */
export interface Page {
  readonly id: string
  readonly url: string
  /** Unix milliseconds. */
  readonly expiresAt: number
}

export interface Buyer {
  readonly accountId: string
  readonly email: string
  /** The id under which the provider knows the account, where it has one yet. */
  readonly customerId: string
  /** The buyer's address, by which the provider guesses currency and tax country. */
  readonly address: string | undefined
}

/** The object that a delivery names. The delivery's own content is never believed (R37). */
export interface Nudge {
  /** The same for each attempt to deliver the same event. */
  readonly deliveryId: string
  /** The provider's name of the event, for metrics. At most 64 characters. */
  readonly kind: string
  readonly object:
    | { readonly kind: "subscription" | "order" | "customer" | "checkout"; readonly id: string }
    /** An event that changes nothing here. */
    | { readonly kind: "none" }
}

/** The provider could not be reached, did not answer in time, or answered what cannot be read. Nothing may depend on it. */
export class ProviderUnavailable extends Data.TaggedError("ProviderUnavailable")<{
  /** For the operator's log. It holds no customer's data and no secret. */
  readonly reason: string
  readonly retryAfter: Duration.Duration | undefined
}> {}

/** The provider has no such object. */
export class ProviderMissing extends Data.TaggedError("ProviderMissing")<{ readonly id: string }> {}

/** The provider took no money; nothing has changed (R42). */
export class ProviderDeclined extends Data.TaggedError("ProviderDeclined") {}

/** Another change of the same subscription is running (R42). */
export class ProviderBusy extends Data.TaggedError("ProviderBusy") {}

/** The provider's customer with this address belongs to another account (R42). */
export class CustomerTaken extends Data.TaggedError("CustomerTaken")<{ readonly customerId: string }> {}

/** The signature, the time or the form of a delivery is not the provider's. */
export class DeliveryInvalid extends Data.TaggedError("DeliveryInvalid")<{ readonly reason: string }> {}

/** A fault of the provider's side that an operator can mend, as `billing check` lists them. */
export interface Finding {
  readonly subject: "token" | "scopes" | "products" | "webhooks"
  readonly ok: boolean
  /** One line: what was found and, where it is wrong, what to do. */
  readonly message: string
}

/**
 * The merchant of record, in no provider's words: it takes payments, keeps subscriptions and reports orders. Reads are
 * fresh: they never answer from a cache. No search asks it.
 */
export class PaymentProvider extends Context.Service<
  PaymentProvider,
  {
    /**
     * The id of the account's customer, made with its first purchase. A customer with the same address whose account is
     * gone is taken over (R32, R42).
     */
    readonly customerOf: (
      accountId: string,
      email: string,
      /** True where the account with this id is removed or unknown here. */
      isGone: (accountId: string) => Effect.Effect<boolean>
    ) => Effect.Effect<string, ProviderUnavailable | CustomerTaken>
    readonly openPlanCheckout: (buyer: Buyer, plan: SoldPlan) => Effect.Effect<Page, ProviderUnavailable>
    readonly openPackCheckout: (
      buyer: Buyer,
      pack: { readonly credits: PackSize; readonly cents: number }
    ) => Effect.Effect<Page, ProviderUnavailable>
    /** The customer and status of a checkout; undefined where there is none with this id. */
    readonly checkout: (
      id: string
    ) => Effect.Effect<
      { readonly customerId: string | undefined; readonly accountId: string | undefined } | undefined,
      ProviderUnavailable
    >
    /** A page on which the customer manages cards, invoices and cancellation. */
    readonly openPortal: (customerId: string) => Effect.Effect<Page, ProviderUnavailable>
    /** Changes the plan. `now` takes the difference first, and changes nothing where it is declined. */
    readonly changePlan: (
      subscriptionId: string,
      plan: SoldPlan,
      when: "now" | "period_end"
    ) => Effect.Effect<Subscription, ProviderUnavailable | ProviderDeclined | ProviderBusy | ProviderMissing>
    /** Calls off a pending change of plan. */
    readonly callOffChange: (
      subscriptionId: string
    ) => Effect.Effect<Subscription, ProviderUnavailable | ProviderBusy | ProviderMissing>
    /** Cancels at the period's end, or takes such a cancellation back. What is so already is no fault. */
    readonly setCancellation: (
      subscriptionId: string,
      isCanceled: boolean
    ) => Effect.Effect<Subscription, ProviderUnavailable | ProviderBusy | ProviderMissing>
    readonly subscription: (id: string) => Effect.Effect<Subscription, ProviderUnavailable | ProviderMissing>
    /** All subscriptions of a customer, ended ones too. */
    readonly subscriptionsOf: (customerId: string) => Effect.Effect<ReadonlyArray<Subscription>, ProviderUnavailable>
    /** Every subscription of the organization that is not over. */
    readonly openSubscriptions: Effect.Effect<ReadonlyArray<Subscription>, ProviderUnavailable>
    readonly order: (id: string) => Effect.Effect<Order, ProviderUnavailable | ProviderMissing>
    readonly ordersOf: (
      of: { readonly customerId: string } | { readonly subscriptionId: string }
    ) => Effect.Effect<ReadonlyArray<Order>, ProviderUnavailable>
    /** Orders made since this moment, in Unix milliseconds. */
    readonly ordersSince: (since: number) => Effect.Effect<ReadonlyArray<Order>, ProviderUnavailable>
    /** Ids of the orders of which a refund was made since this moment. */
    readonly refundedSince: (since: number) => Effect.Effect<ReadonlyArray<string>, ProviderUnavailable>
    /** Void orders, as far back as money of an order can go back. No list tells when they turned. */
    readonly voidOrders: Effect.Effect<ReadonlyArray<Order>, ProviderUnavailable>
    /** The disputes, newest first, as far back as a chargeback can come. There are no deliveries for them. */
    readonly disputes: Effect.Effect<ReadonlyArray<Dispute>, ProviderUnavailable>
    /** Ends the customer's subscriptions at once and removes the person's data. Again is no fault. */
    readonly removeCustomer: (customerId: string) => Effect.Effect<void, ProviderUnavailable>
    /** Judges a delivery by its headers and raw bytes, in constant time. */
    readonly verify: (
      headers: Readonly<Record<string, string | undefined>>,
      body: Uint8Array
    ) => Effect.Effect<Nudge, DeliveryInvalid>
    /** Looks at token, products and webhook endpoint, for `billing check`. */
    readonly check: Effect.Effect<ReadonlyArray<Finding>, ProviderUnavailable>
  }
>()("quarry/services/PaymentProvider") {}

/** The secrets with which a provider signs deliveries: during a rotation two of them. */
export type SigningSecrets = ReadonlyArray<Redacted.Redacted<string>>
