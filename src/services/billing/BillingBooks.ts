import { Context, type Effect } from "effect"
import type { PlanOrder, SoldSubscription } from "../../domain/billing/Subscription.ts"
import type { Nudge, Order } from "./PaymentProvider.ts"

export interface BilledAccount {
  readonly customerId: string | undefined
  /** Unix milliseconds of a lost dispute, after which only an operator can allow purchases. */
  readonly blockedAt: number | undefined
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
  readonly granted: number
  readonly takenBack: number
  readonly isDisputeLost: boolean
  readonly createdAt: number
}

export interface SubscriptionReading {
  readonly accountId: string
  readonly customerId: string
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

/** A customer to delete at the provider, because the account was deleted here. */
export interface Removal {
  readonly customerId: string
  readonly accountId: string
  readonly attempts: number
}

/** `open`: everything not final, every 5 minutes. `changed`: all changes since a time, hourly and at startup. */
export type SweepExtent = "open" | "changed"

/** The provider's objects and the resulting credits. Each call is one transaction on the database's clock (R55). */
export class BillingBooks extends Context.Service<
  BillingBooks,
  {
    /** Undefined if the account is unknown or removed. */
    readonly account: (accountId: string) => Effect.Effect<BilledAccount | undefined>
    readonly accountOf: (customerId: string) => Effect.Effect<string | undefined>
    /** Returns the stored customer, new or old. `taken`: another account has it. `leaving`: its removal is queued. */
    readonly keepCustomer: (
      accountId: string,
      customerId: string
    ) => Effect.Effect<{ readonly customerId: string } | "taken" | "leaving" | "unknown">
    /** An increasing number, which a reading takes before it asks the provider. */
    readonly nextReading: Effect.Effect<number>
    readonly bookSubscriptions: (reading: SubscriptionReading) => Effect.Effect<Booking>
    /** Grants the credits of a paid order, and takes back those of a refund or lost dispute (R38, R40). */
    readonly bookOrder: (order: Order, reading: number) => Effect.Effect<Booking>
    /** Books a dispute as lost, or reverts this. The first loss blocks purchases. */
    readonly bookDispute: (orderId: string, isLost: boolean) => Effect.Effect<Booking>
    readonly unblock: (accountId: string) => Effect.Effect<boolean>
    readonly orders: (accountId: string, limit: number) => Effect.Effect<ReadonlyArray<BookedOrder>>
    readonly order: (orderId: string) => Effect.Effect<BookedOrder | undefined>
    readonly openSubscriptions: Effect.Effect<ReadonlyArray<SoldSubscription & { readonly accountId: string }>>
    readonly pendingOrders: Effect.Effect<ReadonlyArray<string>>
    /** True at most once per account and `everyMs`: the caller may then ask the provider. */
    readonly takeTurn: (accountId: string, everyMs: number) => Effect.Effect<boolean>
    readonly store: (delivery: InboxItem) => Effect.Effect<boolean>
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
    /** For a subscription without an account. False if the removal is already queued. */
    readonly queueRemoval: (customerId: string, accountId: string) => Effect.Effect<boolean>
    /** Undefined if such a sweep ran within `everyMs`. `since` is the last one's start in Unix milliseconds, or 0. */
    readonly takeSweep: (
      extent: SweepExtent,
      everyMs: number,
      leaseMs: number
    ) => Effect.Effect<{ readonly since: number; readonly startedAt: number } | undefined>
    /** A failed sweep is due again immediately. */
    readonly finishSweep: (extent: SweepExtent, startedAt: number, isDone: boolean) => Effect.Effect<void>
    readonly figures: Effect.Effect<{ readonly oldestDeliveryMs: number; readonly owed: number }>
  }
>()("quarry/services/BillingBooks") {}
