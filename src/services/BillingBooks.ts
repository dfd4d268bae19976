import { Context, type Effect } from "effect"
import type { PlanOrder, SoldSubscription } from "../domain/Subscription.ts"
import type { Nudge, Order } from "./PaymentProvider.ts"

/** An account's payments, as the books have them. */
export interface BilledAccount {
  /** The id under which the provider knows the account. */
  readonly customerId: string | undefined
  /** Unix milliseconds since when purchases need an operator, after a lost dispute; undefined otherwise. */
  readonly blockedAt: number | undefined
  /** Ended ones too. */
  readonly subscriptions: ReadonlyArray<SoldSubscription>
  readonly balance: number
  readonly owed: number
}

/** An order as the books have it. */
export interface BookedOrder {
  readonly id: string
  readonly accountId: string
  readonly kind: "pack" | "plan"
  readonly status: Order["status"]
  readonly netCents: number
  readonly refundedCents: number
  /** Credits that the order has granted, once for ever (R38). */
  readonly granted: number
  /** Credits of those that were taken back or are owed (R40). */
  readonly takenBack: number
  readonly isDisputeLost: boolean
  readonly createdAt: number
}

/** One reading of the provider: all subscriptions of an account with their orders. */
export interface SubscriptionReading {
  readonly accountId: string
  readonly customerId: string
  /** From `nextReading`, taken before the provider was asked. */
  readonly reading: number
  readonly subscriptions: ReadonlyArray<SoldSubscription & { readonly orders: ReadonlyArray<PlanOrder> }>
  readonly graceMs: number
}

/**
 * `changed`: the books differed, and now agree. `outdated`: a reading that began later was booked before. `unknown`: there
 * is no such account any more.
 */
export type Booking = "changed" | "unchanged" | "outdated" | "unknown"

/** A delivery that waits for its work. */
export interface InboxItem {
  readonly deliveryId: string
  readonly kind: string
  readonly object: Exclude<Nudge["object"], { readonly kind: "none" }>
  /** Attempts before this one. */
  readonly attempts: number
}

/** A customer who is to be removed at the provider, because the account is removed here. */
export interface Removal {
  readonly customerId: string
  readonly accountId: string
  readonly attempts: number
}

/**
 * The extent of a sweep. `open`: what is not final yet, every 5 minutes. `changed`: everything that the provider may have
 * changed since a moment, hourly and at the start.
 */
export type SweepExtent = "open" | "changed"

/**
 * The books of payments: what the provider has said, and what followed from it for plans and credits. Everything that one
 * call books is one transaction. Times are those of the store's clock (R55). A failure of the store is a defect.
 */
export class BillingBooks extends Context.Service<
  BillingBooks,
  {
    /** Undefined for an account that is removed or unknown. */
    readonly account: (accountId: string) => Effect.Effect<BilledAccount | undefined>
    /** The account that has this customer. */
    readonly accountOf: (customerId: string) => Effect.Effect<string | undefined>
    /**
     * Keeps the customer of an account that has none, and answers the one that is kept then. `taken`: another account has
     * this customer. `leaving`: the customer is about to be removed at the provider.
     */
    readonly keepCustomer: (
      accountId: string,
      customerId: string
    ) => Effect.Effect<{ readonly customerId: string } | "taken" | "leaving" | "unknown">
    /** A number that grows with each call. A reading of the provider takes one before it asks. */
    readonly nextReading: Effect.Effect<number>
    /** Brings plan, period and coming change of an account to a reading. */
    readonly bookSubscriptions: (reading: SubscriptionReading) => Effect.Effect<Booking>
    /** Grants what a paid order bought, and takes back what a refund or a lost dispute asks for (R38, R40). */
    readonly bookOrder: (order: Order, reading: number) => Effect.Effect<Booking>
    /** Books a dispute as lost, or as not lost after all. The first loss blocks the account's purchases. */
    readonly bookDispute: (orderId: string, isLost: boolean) => Effect.Effect<Booking>
    /** Ends the block that a lost dispute made. False where there was none. */
    readonly unblock: (accountId: string) => Effect.Effect<boolean>
    /** The orders of an account, newest first. */
    readonly orders: (accountId: string, limit: number) => Effect.Effect<ReadonlyArray<BookedOrder>>
    /** An order by its id. */
    readonly order: (orderId: string) => Effect.Effect<BookedOrder | undefined>
    /** Every subscription of the books that is not over, with its account. */
    readonly openSubscriptions: Effect.Effect<ReadonlyArray<SoldSubscription & { readonly accountId: string }>>
    /** Orders that wait for their payment. */
    readonly pendingOrders: Effect.Effect<ReadonlyArray<string>>
    /** True once in this many milliseconds for an account: it may ask the provider now. */
    readonly takeTurn: (accountId: string, everyMs: number) => Effect.Effect<boolean>
    /** Stores a delivery, once for each id. False for one that was stored before. */
    readonly store: (delivery: InboxItem) => Effect.Effect<boolean>
    /** Takes deliveries whose work is due, for `leaseMs`: no other replica gets them meanwhile. */
    readonly takeDeliveries: (limit: number, leaseMs: number) => Effect.Effect<ReadonlyArray<InboxItem>>
    readonly finishDeliveries: (deliveryIds: ReadonlyArray<string>) => Effect.Effect<void>
    /** Puts deliveries off: another attempt is due after `waitMs`. */
    readonly postponeDeliveries: (
      deliveryIds: ReadonlyArray<string>,
      reason: string,
      waitMs: number
    ) => Effect.Effect<void>
    /** Deletes deliveries that were done more than `ageMs` ago. The result is their number. */
    readonly pruneDeliveries: (ageMs: number) => Effect.Effect<number>
    readonly takeRemovals: (limit: number, leaseMs: number) => Effect.Effect<ReadonlyArray<Removal>>
    readonly finishRemoval: (customerId: string) => Effect.Effect<void>
    readonly postponeRemoval: (customerId: string, waitMs: number) => Effect.Effect<void>
    /** Queues a customer whose account is gone and who has a subscription all the same. False: queued before. */
    readonly queueRemoval: (customerId: string, accountId: string) => Effect.Effect<boolean>
    /**
     * Takes a sweep that is due: no replica swept to this extent within `everyMs`. `since` is the begin of the last one
     * that ended, in Unix milliseconds, and 0 before the first. Undefined: not due.
     */
    readonly takeSweep: (
      extent: SweepExtent,
      everyMs: number,
      leaseMs: number
    ) => Effect.Effect<{ readonly since: number; readonly startedAt: number } | undefined>
    /** A sweep that failed is due again at once. */
    readonly finishSweep: (extent: SweepExtent, startedAt: number, isDone: boolean) => Effect.Effect<void>
    /** Figures for the metrics. */
    readonly figures: Effect.Effect<{ readonly oldestDeliveryMs: number; readonly owed: number }>
  }
>()("quarry/services/BillingBooks") {}
