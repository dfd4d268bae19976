import { Schema } from "effect"
import type { Requester } from "../requests/CurrentRequester.ts"

export const eventTypes = [
  "credits.low",
  "credits.exhausted",
  "quota.reset",
  "plan.changed",
  "pack.granted",
  "payment.past_due",
  "key.created",
  "key.rotated",
  "key.revoked",
  "key.expiring"
] as const

export const EventType = Schema.Literals(eventTypes).annotate({
  identifier: "EventType",
  message: `must be one of ${eventTypes.join(", ")}`
})
export type EventType = typeof EventType.Type

/** `webhook.test` is sent to the tested endpoint regardless of its event types. */
export type AnyEventType = EventType | "webhook.test"

export interface Event {
  /** `evt_` and 32 hex characters: the `webhook-id`, the same for every delivery and attempt. */
  readonly id: string
  readonly accountId: string
  readonly type: AnyEventType
  readonly createdAt: number
  readonly data: Schema.JsonObject
  /** Whose request caused the event, with `actor` as an email address or `operator`. Only emails show it. */
  readonly requester?: Requester | undefined
}

export interface EventSettings {
  readonly lowPercents: ReadonlyArray<number>
  /** `credits.low` is sent when pack credits fall below this number; undefined for never. */
  readonly lowBalance: number | undefined
  readonly emailTypes: ReadonlyArray<EventType>
}

/** Must match `event_add` and `events_of_allowance` in the database. */
export const defaultEventSettings: EventSettings = {
  lowPercents: [80, 95],
  lowBalance: undefined,
  emailTypes: eventTypes.filter((type) => type !== "quota.reset")
}

/** `account`: by its owner. `failing`: failed for `maxFailingMs`. `gone`: responded with 410. */
export type DisabledFor = "account" | "failing" | "gone"

export interface Endpoint {
  readonly id: string
  readonly accountId: string
  readonly url: string
  readonly types: ReadonlyArray<EventType>
  readonly createdAt: number
  readonly failingSince: number | undefined
  readonly disabledAt: number | undefined
  readonly disabledFor: DisabledFor | undefined
}

export const deliveryStatuses = ["pending", "delivered", "failed"] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

export interface Delivery {
  readonly id: string
  readonly event: Event
  readonly status: DeliveryStatus
  readonly attempts: number
  readonly createdAt: number
  readonly attemptedAt: number | undefined
  /** Unix milliseconds; undefined if there is no further attempt. */
  readonly nextAttemptAt: number | undefined
  readonly httpStatus: number | undefined
  /** In detail, for the operator. Accounts see `shownError`. */
  readonly error: string | undefined
  readonly durationMs: number | undefined
}

const unreachable = "the endpoint could not be reached"

export const unreachableError = (cause: string): string => `${unreachable} (${cause})`

/**
 * Hides why there was no response: otherwise accounts could scan networks by comparing refused, filtered and silent
 * ports. Durations still differ, but accounts could measure those anyway.
 */
export const shownError = (error: string): string => (error.startsWith(unreachable) ? unreachable : error)

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

const waitsMs = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour
] as const

export const maxRetryAfterMs = 24 * hour

export const maxFailingMs = 5 * 24 * hour

/** Relative jitter, so that the deliveries of an outage do not all retry at once. */
const jitter = 0.1

/** Milliseconds; undefined after the last attempt. `random` is from 0 to 1. A longer `Retry-After` is honored. */
export const waitAfter = (attempts: number, random: number, retryAfterMs = 0): number | undefined => {
  const wait = waitsMs[attempts - 1]
  if (wait === undefined) return undefined
  return Math.max(Math.round(wait * (1 + jitter * (2 * random - 1))), Math.min(retryAfterMs, maxRetryAfterMs))
}

export const secretPrefix = "whsec_"
export const secretBytes = 32
