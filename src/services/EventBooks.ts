import { Context, type Effect, type Redacted } from "effect"
import type { SlotLimits } from "../domain/DeliverySlots.ts"
import type { Delivery, Endpoint, Event, EventSettings, EventType } from "../domain/Event.ts"
import { InvalidRequest, NotFound } from "../domain/errors.ts"

/** Endpoints of an account: each event costs a request for each of them. */
export const maxEndpoints = 10

export const tooManyEndpoints = InvalidRequest.whole(`an account has at most ${maxEndpoints} webhooks`)
export const noSuchEndpoint = new NotFound({ message: "The account has no webhook with this id." })
export const noSuchDelivery = new NotFound({ message: "The webhook has no delivery with this id." })
export const endpointDisabled = InvalidRequest.whole("the webhook is disabled: enable it first")

/** Deliveries that wait for one endpoint, or for one account's address. `event_queue_is_full` has the same number. */
export const maxQueued = 10_000

export const queueFull = InvalidRequest.whole(
  `${maxQueued} deliveries wait for the webhook, which is the most: it gets no more until some have ended`
)
export const addressChanged = InvalidRequest.whole(
  "the webhook has another address since this event: events are sent only to the address that it had when they happened"
)

/** The error of deliveries that ended because nobody is to get them any more. */
export const stoppedError = { disabled: "the webhook was disabled", emails: "the account stopped these emails" }

/** The error of deliveries that were dropped. The others are not in the list of deliveries any more. */
export const droppedError = {
  address_changed: "the webhook's address was changed",
  suspended: "the account was suspended",
  operator: "the operator of this service dropped it"
}

/** `expired`: it waited longer than events are kept. `too_many`: `maxQueued` deliveries were waiting, so it was not added. */
export const dropReasons = ["address_changed", "suspended", "operator", "expired", "too_many"] as const
export type DropReason = (typeof dropReasons)[number]

/** Deliveries that were dropped together. `endpointId` is undefined for emails. */
export interface Dropped {
  readonly accountId: string
  readonly endpointId: string | undefined
  readonly reason: DropReason
  readonly deliveries: number
}

/** An endpoint as operators see it. */
export interface EndpointQueue {
  readonly endpoint: Endpoint
  /** Unix milliseconds; undefined while the operator lets it send. */
  readonly pausedAt: number | undefined
  /** Deliveries that wait, or whose attempt is in flight. */
  readonly queued: number
  /** Deliveries of the last 30 days that ended without a success. */
  readonly failed: number
}

export interface AccountQueues {
  /** Unix milliseconds; undefined while the operator lets the account's endpoints send. */
  readonly pausedAt: number | undefined
  /** Newest endpoint first. */
  readonly webhooks: ReadonlyArray<EndpointQueue>
}

export interface NewEndpoint {
  readonly id: string
  readonly url: string
  readonly types: ReadonlyArray<EventType>
  /** The text that begins with `whsec_`. */
  readonly secret: Redacted.Redacted
}

/** Only the fields that are there change. `disabled: false` enables an endpoint, also one that we disabled. */
export interface EndpointChange {
  readonly url?: string
  readonly types?: ReadonlyArray<EventType>
  readonly disabled?: boolean
}

export interface SettingsChange {
  readonly lowPercents?: ReadonlyArray<number>
  /** Null ends the threshold. */
  readonly lowBalance?: number | null
  readonly emailTypes?: ReadonlyArray<EventType>
}

export interface DeliveryPage {
  /** Newest first. */
  readonly deliveries: ReadonlyArray<Delivery>
  /** The id of the last delivery of the page; undefined where no more follow. */
  readonly next: string | undefined
}

/** The one who gets a delivery. Without a secret it cannot be signed: AUTH_SECRET was lost, and the endpoint needs a new one. */
export type Receiver =
  | {
      readonly _tag: "endpoint"
      readonly id: string
      readonly url: string
      readonly secrets: ReadonlyArray<Redacted.Redacted>
      readonly isFailing: boolean
    }
  /** Without an address: nobody has confirmed the one that the account's person gave. */
  | { readonly _tag: "email"; readonly address: string | undefined }

/** A delivery that nobody else works on until its lease ends. */
export interface TakenDelivery {
  readonly id: string
  readonly event: Event
  /** With the one that is to be made. */
  readonly attempts: number
  readonly receiver: Receiver
}

export interface Attempt {
  readonly durationMs: number
  readonly httpStatus: number | undefined
  /** Undefined for a success. */
  readonly failure:
    | {
        readonly error: string
        /** Undefined: no attempt follows. */
        readonly waitMs: number | undefined
        /** The receiver is gone for ever: its endpoint is disabled. */
        readonly isGone: boolean
      }
    | undefined
}

/** The outcome of an attempt. `lost`: its lease had ended, and somebody else has the delivery. */
export type AttemptEnd = "delivered" | "postponed" | "given_up" | "disabled" | "lost"

/** The result of one look at secrets that are to be encrypted anew. */
export interface Resealed {
  readonly renewed: number
  /** Secrets that cannot be read, of all endpoints; undefined until all have been looked at. */
  readonly unreadable: number | undefined
}

/** The events of accounts, their endpoints, and the deliveries that are due (R53). */
export class EventBooks extends Context.Service<
  EventBooks,
  {
    /** Newest first. */
    readonly endpoints: (accountId: string) => Effect.Effect<ReadonlyArray<Endpoint>>
    readonly addEndpoint: (accountId: string, endpoint: NewEndpoint) => Effect.Effect<Endpoint, InvalidRequest>
    /** Another address drops the deliveries that wait: they would go where their events were not meant to go. */
    readonly changeEndpoint: (
      accountId: string,
      id: string,
      change: EndpointChange
    ) => Effect.Effect<Endpoint, NotFound>
    /** Its deliveries go with it. */
    readonly removeEndpoint: (accountId: string, id: string) => Effect.Effect<void, NotFound>
    /** Deliveries are signed with the old secret too until `graceMs` have passed. */
    readonly replaceSecret: (
      accountId: string,
      id: string,
      secret: Redacted.Redacted,
      graceMs: number
    ) => Effect.Effect<Endpoint, NotFound>
    /** Writes a `webhook.test` for this endpoint alone. */
    readonly addTest: (accountId: string, id: string) => Effect.Effect<Delivery, NotFound | InvalidRequest>
    readonly deliveries: (
      accountId: string,
      id: string,
      page: { readonly after: string | undefined; readonly limit: number }
    ) => Effect.Effect<DeliveryPage, NotFound>
    /**
     * Sends the event of a delivery once more, under its old id: the first delivery stays as it is. Fails for an event from
     * before the endpoint had its present address.
     */
    readonly redeliver: (
      accountId: string,
      id: string,
      deliveryId: string
    ) => Effect.Effect<Delivery, NotFound | InvalidRequest>
    readonly settings: (accountId: string) => Effect.Effect<EventSettings>
    readonly changeSettings: (accountId: string, change: SettingsChange) => Effect.Effect<EventSettings>
    /** Says whether this deployment sends emails: without a mail server none is written. */
    readonly setEmails: (isOn: boolean) => Effect.Effect<void>
    /**
     * Leases due deliveries for `leaseMs`. Accounts share the free slots by `shareSlots`, over all replicas. Deliveries of
     * suspended accounts, and of events from before a change of address, are dropped instead.
     */
    readonly take: (limits: SlotLimits, leaseMs: number) => Effect.Effect<ReadonlyArray<TakenDelivery>>
    readonly finish: (taken: TakenDelivery, attempt: Attempt) => Effect.Effect<AttemptEnd>
    /** Accounts that wait for an event of a period or plan that has ended while nobody searched. */
    readonly overdueAccounts: (limit: number) => Effect.Effect<ReadonlyArray<string>>
    /** Writes the events of keys that expire within so long, once for each expiry. */
    readonly addExpiring: (withinMs: number) => Effect.Effect<void>
    /** Deletes events that are older, and returns how many. */
    readonly prune: (ageMs: number) => Effect.Effect<number>
    /** For the operator: the endpoints of an account, with what waits for them. */
    readonly queues: (accountId: string) => Effect.Effect<AccountQueues>
    /** Stops the attempts at one endpoint, or at all of the account's, or lets them go on. What waits is kept. */
    readonly pause: (
      accountId: string,
      endpointId: string | undefined,
      isPaused: boolean
    ) => Effect.Effect<void, NotFound>
    /** Ends the deliveries that wait for one endpoint, or for all of the account's. Returns how many. */
    readonly drop: (accountId: string, endpointId: string | undefined) => Effect.Effect<number, NotFound>
    /** Returns what was dropped since the last call, on any replica or by a command, once. */
    readonly collectDropped: (limit: number) => Effect.Effect<ReadonlyArray<Dropped>>
    /** Encrypts secrets anew whose AUTH_SECRET a rotation replaces. Each call looks at the next ones. */
    readonly resealSecrets: (limit: number) => Effect.Effect<Resealed>
    readonly figures: Effect.Effect<{
      /** Age of the oldest event that has a receiver left. */
      readonly oldestMs: number
      /**
       * The longest that an endpoint that works, or an address, has waited for an attempt while none is in flight there.
       * Its own long queue does not count.
       */
      readonly overdueMs: number
      readonly pending: number
    }>
  }
>()("quarry/services/EventBooks") {}
