import { Context, type Effect, type Redacted } from "effect"
import { InvalidRequest, NotFound } from "../../domain/errors.ts"
import type { SlotLimits } from "../../domain/webhooks/DeliverySlots.ts"
import type { Delivery, Endpoint, Event, EventSettings, EventType } from "../../domain/webhooks/Event.ts"

/** Limits requests per event. */
export const maxEndpoints = 10

export const tooManyEndpoints = InvalidRequest.whole(
  `an account can have at most ${maxEndpoints} webhooks; delete one that is no longer used`
)
export const noSuchEndpoint = new NotFound({ message: "The account has no webhook with this ID." })
export const noSuchDelivery = new NotFound({ message: "The webhook has no delivery with this ID." })
export const endpointDisabled = InvalidRequest.whole("the webhook is disabled; enable it first")

/**
 * Pending deliveries per webhook endpoint or email address. `event_queue_is_full` in the database has the same limit.
 */
export const maxQueued = 10_000

export const queueFull = InvalidRequest.whole(
  `the webhook already has ${maxQueued} pending deliveries, which is the limit; try again when some have completed`
)
export const addressChanged = InvalidRequest.whole(
  "the webhook's address has changed since this event; events are only sent to the address at the time of the event"
)

export const stoppedError = { disabled: "the webhook was disabled", emails: "the account stopped these emails" }

/** Errors of dropped deliveries. Deliveries dropped for other reasons are no longer listed. */
export const droppedError = {
  address_changed: "the webhook's address was changed",
  suspended: "the account was suspended",
  operator: "the operator of this service dropped it"
}

/** `expired`: pending for too long. `too_many`: not added, because `maxQueued` deliveries were pending. */
export const dropReasons = ["address_changed", "suspended", "operator", "expired", "too_many"] as const
export type DropReason = (typeof dropReasons)[number]

/** `endpointId` is undefined for emails. */
export interface Dropped {
  readonly accountId: string
  readonly endpointId: string | undefined
  readonly reason: DropReason
  readonly deliveries: number
}

/** As operators see it. */
export interface EndpointQueue {
  readonly endpoint: Endpoint
  /** Unix milliseconds; undefined if not paused. */
  readonly pausedAt: number | undefined
  /** Pending deliveries, including attempts in flight. */
  readonly queued: number
  /** Failed deliveries of the last 30 days. */
  readonly failed: number
}

export interface AccountQueues {
  /** Unix milliseconds; undefined if not paused. */
  readonly pausedAt: number | undefined
  readonly webhooks: ReadonlyArray<EndpointQueue>
}

export interface NewEndpoint {
  readonly id: string
  readonly url: string
  readonly types: ReadonlyArray<EventType>
  /** Starts with `whsec_`. */
  readonly secret: Redacted.Redacted
}

/** Absent fields keep their value. `disabled: false` enables an endpoint, even one disabled because it failed. */
export interface EndpointChange {
  readonly url?: string
  readonly types?: ReadonlyArray<EventType>
  readonly disabled?: boolean
}

export interface SettingsChange {
  readonly lowPercents?: ReadonlyArray<number>
  /** Null removes the threshold. */
  readonly lowBalance?: number | null
  readonly emailTypes?: ReadonlyArray<EventType>
}

export interface DeliveryPage {
  readonly deliveries: ReadonlyArray<Delivery>
  /** The ID of the page's last delivery; undefined on the last page. */
  readonly next: string | undefined
}

/** Without secrets a delivery cannot be signed: AUTH_SECRET was lost, and the account must rotate its secret. */
export type Receiver =
  | {
      readonly _tag: "endpoint"
      readonly id: string
      readonly url: string
      readonly secrets: ReadonlyArray<Redacted.Redacted>
      readonly isFailing: boolean
    }
  /** The address is undefined until it is confirmed. */
  | { readonly _tag: "email"; readonly address: string | undefined }

export interface TakenDelivery {
  readonly id: string
  readonly event: Event
  /** Includes the attempt about to be made. */
  readonly attempts: number
  readonly receiver: Receiver
}

export interface Attempt {
  readonly durationMs: number
  readonly httpStatus: number | undefined
  /** Undefined if it succeeded. */
  readonly failure:
    | {
        readonly error: string
        /** Undefined if there is no further attempt. */
        readonly waitMs: number | undefined
        /** The endpoint is gone permanently and will be disabled. */
        readonly isGone: boolean
      }
    | undefined
}

/** `lost`: the lease expired and another process took the delivery. */
export type AttemptEnd = "delivered" | "postponed" | "given_up" | "disabled" | "lost"

export interface Resealed {
  readonly renewed: number
  /** Unreadable secrets of all endpoints; undefined until all were checked. */
  readonly unreadable: number | undefined
}

/** Events of accounts, their webhook endpoints, and deliveries (R53). */
export class EventBooks extends Context.Service<
  EventBooks,
  {
    readonly endpoints: (accountId: string) => Effect.Effect<ReadonlyArray<Endpoint>>
    readonly addEndpoint: (accountId: string, endpoint: NewEndpoint) => Effect.Effect<Endpoint, InvalidRequest>
    /** A new address drops pending deliveries: their events were meant for the old one. */
    readonly changeEndpoint: (
      accountId: string,
      id: string,
      change: EndpointChange
    ) => Effect.Effect<Endpoint, NotFound>
    /** Removes its deliveries too. */
    readonly removeEndpoint: (accountId: string, id: string) => Effect.Effect<void, NotFound>
    /** Deliveries are also signed with the old secret for `graceMs`. */
    readonly replaceSecret: (
      accountId: string,
      id: string,
      secret: Redacted.Redacted,
      graceMs: number
    ) => Effect.Effect<Endpoint, NotFound>
    readonly addTest: (accountId: string, id: string) => Effect.Effect<Delivery, NotFound | InvalidRequest>
    readonly deliveries: (
      accountId: string,
      id: string,
      page: { readonly after: string | undefined; readonly limit: number }
    ) => Effect.Effect<DeliveryPage, NotFound>
    /** Keeps the event's ID. Fails if the endpoint's address has changed since the event. */
    readonly redeliver: (
      accountId: string,
      id: string,
      deliveryId: string
    ) => Effect.Effect<Delivery, NotFound | InvalidRequest>
    readonly settings: (accountId: string) => Effect.Effect<EventSettings>
    readonly changeSettings: (accountId: string, change: SettingsChange) => Effect.Effect<EventSettings>
    readonly setEmails: (isOn: boolean) => Effect.Effect<void>
    /**
     * Leases due deliveries for `leaseMs`, sharing free slots fairly over all replicas (`shareSlots`). Drops deliveries
     * of suspended accounts and of events from before a change of address.
     */
    readonly take: (limits: SlotLimits, leaseMs: number) => Effect.Effect<ReadonlyArray<TakenDelivery>>
    readonly finish: (taken: TakenDelivery, attempt: Attempt) => Effect.Effect<AttemptEnd>
    /** Accounts with an unsent event about a period or plan that ended without a search. */
    readonly overdueAccounts: (limit: number) => Effect.Effect<ReadonlyArray<string>>
    /** Writes events for keys that expire within `withinMs`, once per expiry. */
    readonly addExpiring: (withinMs: number) => Effect.Effect<void>
    /** Deletes events older than `ageMs` and returns their number. */
    readonly prune: (ageMs: number) => Effect.Effect<number>
    readonly queues: (accountId: string) => Effect.Effect<AccountQueues>
    /** Pauses or resumes attempts at one endpoint, or at all endpoints of the account. Pending deliveries are kept. */
    readonly pause: (
      accountId: string,
      endpointId: string | undefined,
      isPaused: boolean
    ) => Effect.Effect<void, NotFound>
    /** Drops pending deliveries of one endpoint or of all, and returns their number. */
    readonly drop: (accountId: string, endpointId: string | undefined) => Effect.Effect<number, NotFound>
    /** Returns deliveries dropped on any replica, each once. */
    readonly collectDropped: (limit: number) => Effect.Effect<ReadonlyArray<Dropped>>
    /** Re-encrypts the next secrets during a rotation of AUTH_SECRET. */
    readonly resealSecrets: (limit: number) => Effect.Effect<Resealed>
    readonly figures: Effect.Effect<{
      /** Age of the oldest event that can still be delivered. */
      readonly oldestMs: number
      /**
       * The longest overdue attempt at a healthy endpoint or email address without an attempt in flight, so that an
       * endpoint's own long queue does not count.
       */
      readonly overdueMs: number
      readonly pending: number
    }>
  }
>()("quarry/services/webhooks/EventBooks") {}
