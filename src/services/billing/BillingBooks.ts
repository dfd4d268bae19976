import { Context, type Effect } from "effect"
import type { PlanOrder, SoldSubscription } from "../../domain/billing/Subscription.ts"
import type { Nudge, Order } from "./PaymentProvider.ts"

export interface BilledAccount {
  readonly customerId: string | undefined
  /** Unix milliseconds of a lost dispute, after which only an operator can allow purchases. */
  readonly blockedAt: number | undefined
  /** Including ended ones. */
  readonly subscriptions: ReadonlyArray<SoldSubscription>
  readonly balance: number
  readonly owed: number
}

export interface BookedOrder {
  readonly id: string
  readonly accountId: string
  readonly kind: "pack" | "plan"
  readonly status: Order["status"]
  readonly netCents: number
  readonly refundedCents: number
  /** Credits granted by the order, once (R38). */
  readonly granted: number
  /** Granted credits that were taken back or are owed (R40). */
  readonly takenBack: number
  readonly isDisputeLost: boolean
  readonly createdAt: number
}

/** The state of an account's subscriptions at one time. */
export interface SubscriptionReading {
  readonly accountId: string
  readonly customerId: string
  /** From `nextReading`, taken before the provider was asked. */
  readonly reading: number
  readonly subscriptions: ReadonlyArray<SoldSubscription & { readonly orders: ReadonlyArray<PlanOrder> }>
  readonly graceMs: number
}

/** `outdated`: a later reading was already booked. `unknown`: the account no longer exists. */
export type Booking = "changed" | "unchanged" | "outdated" | "unknown"

export interface InboxItem {
  readonly deliveryId: string
  readonly kind: string
  readonly object: Exclude<Nudge["object"], { readonly kind: "none" }>
  readonly attempts: number
}

/** To delete at the provider, because the account was deleted here. */
export interface Removal {
  readonly customerId: string
  readonly accountId: string
  readonly attempts: number
}

/** `open`: everything not final, every 5 minutes. `changed`: all changes since a time, hourly and at startup. */
export type SweepExtent = "open" | "changed"

/**
 * The books of payments: the provider's objects and the resulting plans and credits. Each call is one transaction and
 * uses the database's clock (R55). A database failure is a defect.
 */
export class BillingBooks extends Context.Service<
  BillingBooks,
  {
    /** Undefined if the account is unknown or removed. */
    readonly account: (accountId: string) => Effect.Effect<BilledAccount | undefined>
    readonly accountOf: (customerId: string) => Effect.Effect<string | undefined>
    /**
     * Stores the customer of an account that has none, and returns the stored one. `taken`: it belongs to another
     * account. `leaving`: it is about to be removed at the provider.
     */
    readonly keepCustomer: (
      accountId: string,
      customerId: string
    ) => Effect.Effect<{ readonly customerId: string } | "taken" | "leaving" | "unknown">
    /** An increasing number. A reading takes one before it asks the provider. */
    readonly nextReading: Effect.Effect<number>
    readonly bookSubscriptions: (reading: SubscriptionReading) => Effect.Effect<Booking>
    /** Grants the credits of a paid order, and takes back those of a refund or lost dispute (R38, R40). */
    readonly bookOrder: (order: Order, reading: number) => Effect.Effect<Booking>
    /** Books a dispute as lost, or reverts this. The first loss blocks purchases. */
    readonly bookDispute: (orderId: string, isLost: boolean) => Effect.Effect<Booking>
    /** Allows purchases again after a lost dispute. False if they were not blocked. */
    readonly unblock: (accountId: string) => Effect.Effect<boolean>
    readonly orders: (accountId: string, limit: number) => Effect.Effect<ReadonlyArray<BookedOrder>>
    readonly order: (orderId: string) => Effect.Effect<BookedOrder | undefined>
    readonly openSubscriptions: Effect.Effect<ReadonlyArray<SoldSubscription & { readonly accountId: string }>>
    readonly pendingOrders: Effect.Effect<ReadonlyArray<string>>
    /** Returns true at most once per `everyMs` for an account, which may then ask the provider. */
    readonly takeTurn: (accountId: string, everyMs: number) => Effect.Effect<boolean>
    /** False if its ID is already stored. */
    readonly store: (delivery: InboxItem) => Effect.Effect<boolean>
    /** Leases due deliveries for `leaseMs`. */
    readonly takeDeliveries: (limit: number, leaseMs: number) => Effect.Effect<ReadonlyArray<InboxItem>>
    readonly finishDeliveries: (deliveryIds: ReadonlyArray<string>) => Effect.Effect<void>
    readonly postponeDeliveries: (
      deliveryIds: ReadonlyArray<string>,
      reason: string,
      waitMs: number
    ) => Effect.Effect<void>
    readonly pruneDeliveries: (ageMs: number) => Effect.Effect<number>
    readonly takeRemovals: (limit: number, leaseMs: number) => Effect.Effect<ReadonlyArray<Removal>>
    readonly finishRemoval: (customerId: string) => Effect.Effect<void>
    readonly postponeRemoval: (customerId: string, waitMs: number) => Effect.Effect<void>
    /** Queues the removal of a customer with a subscription but without an account. False if already queued. */
    readonly queueRemoval: (customerId: string, accountId: string) => Effect.Effect<boolean>
    /**
     * Undefined if a replica made such a sweep within `everyMs`. `since` is the start of the last one in Unix
     * milliseconds, or 0.
     */
    readonly takeSweep: (
      extent: SweepExtent,
      everyMs: number,
      leaseMs: number
    ) => Effect.Effect<{ readonly since: number; readonly startedAt: number } | undefined>
    /** A failed sweep is due again immediately. */
    readonly finishSweep: (extent: SweepExtent, startedAt: number, isDone: boolean) => Effect.Effect<void>
    readonly figures: Effect.Effect<{ readonly oldestDeliveryMs: number; readonly owed: number }>
  }
>()("quarry/services/billing/BillingBooks") {}
