import { Context, type Effect, type Redacted } from "effect"
import type { Delivery, Endpoint, Event, EventSettings, EventType } from "../domain/Event.ts"
import { InvalidRequest, NotFound } from "../domain/errors.ts"

/** Endpoints of an account: each event costs a request for each of them. */
export const maxEndpoints = 10

export const tooManyEndpoints = InvalidRequest.whole(`an account has at most ${maxEndpoints} webhooks`)
export const noSuchEndpoint = new NotFound({ message: "The account has no webhook with this id." })
export const noSuchDelivery = new NotFound({ message: "The webhook has no delivery with this id." })
export const endpointDisabled = InvalidRequest.whole("the webhook is disabled: enable it first")

/** The error of deliveries that ended because nobody is to get them any more. */
export const stoppedError = { disabled: "the webhook was disabled", emails: "the account stopped these emails" }

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

/** The most deliveries to take, for those receivers that work and those whose last attempt failed. */
export interface TakeLimits {
  readonly working: number
  readonly failing: number
  /** Attempts at one endpoint at the same time, over all replicas. */
  readonly perEndpoint: number
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
    /** Sends the event of a delivery once more, under its old id: the first delivery stays as it is. */
    readonly redeliver: (
      accountId: string,
      id: string,
      deliveryId: string
    ) => Effect.Effect<Delivery, NotFound | InvalidRequest>
    readonly settings: (accountId: string) => Effect.Effect<EventSettings>
    readonly changeSettings: (accountId: string, change: SettingsChange) => Effect.Effect<EventSettings>
    /** Says whether this deployment sends emails: without a mail server none is written. */
    readonly setEmails: (isOn: boolean) => Effect.Effect<void>
    /** Takes deliveries that are due for so long. Replicas take them without waiting for each other. */
    readonly take: (limits: TakeLimits, leaseMs: number) => Effect.Effect<ReadonlyArray<TakenDelivery>>
    readonly finish: (taken: TakenDelivery, attempt: Attempt) => Effect.Effect<AttemptEnd>
    /** Accounts that wait for an event of a period or plan that has ended while nobody searched. */
    readonly overdueAccounts: (limit: number) => Effect.Effect<ReadonlyArray<string>>
    /** Writes the events of keys that expire within so long, once for each expiry. */
    readonly addExpiring: (withinMs: number) => Effect.Effect<void>
    /** Deletes events that are older, and answers how many. */
    readonly prune: (ageMs: number) => Effect.Effect<number>
    /** Encrypts secrets anew whose AUTH_SECRET a rotation replaces. Each call looks at the next ones. */
    readonly resealSecrets: (limit: number) => Effect.Effect<Resealed>
    readonly figures: Effect.Effect<{
      /** Age of the oldest event that has a receiver left. */
      readonly oldestMs: number
      /** The longest by which an attempt is late. */
      readonly overdueMs: number
      readonly pending: number
    }>
  }
>()("quarry/services/EventBooks") {}
