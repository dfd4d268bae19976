import { Schema } from "effect"

/** The events of an account, of which its customer hears (R53). */

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

/** A type that endpoints and people choose. */
export const EventType = Schema.Literals(eventTypes).annotate({
  identifier: "EventType",
  message: `must be one of ${eventTypes.join(", ")}`
})
export type EventType = typeof EventType.Type

/** `webhook.test` goes to the endpoint that is tested, whatever it has chosen. */
export type AnyEventType = EventType | "webhook.test"

export interface Event {
  /** `evt_` and 32 hex characters: the `webhook-id`, the same in every attempt and every delivery. */
  readonly id: string
  readonly accountId: string
  readonly type: AnyEventType
  readonly createdAt: number
  readonly data: Schema.JsonObject
}

/** The wishes of an account, apart from its endpoints. */
export interface EventSettings {
  /** Percents of a period's quota at which `credits.low` is sent, in rising order. */
  readonly lowPercents: ReadonlyArray<number>
  /** Pack credits under which `credits.low` is sent; undefined for none. */
  readonly lowBalance: number | undefined
  /** Types that are sent by email. */
  readonly emailTypes: ReadonlyArray<EventType>
}

/** The settings of an account that has chosen none. `event_add` and `events_of_allowance` have the same. */
export const defaultEventSettings: EventSettings = {
  lowPercents: [80, 95],
  lowBalance: undefined,
  emailTypes: eventTypes.filter((type) => type !== "quota.reset")
}

/** `account`: its person disabled it. `failing`: it failed for `maxFailingMs`. `gone`: it answered 410. */
export type DisabledFor = "account" | "failing" | "gone"

/** A receiver of events, without its secret. */
export interface Endpoint {
  /** `whk_` and 32 hex characters. */
  readonly id: string
  readonly accountId: string
  readonly url: string
  /** Empty for every type. */
  readonly types: ReadonlyArray<EventType>
  readonly createdAt: number
  /** Unix milliseconds of the first failure since the last success. */
  readonly failingSince: number | undefined
  readonly disabledAt: number | undefined
  readonly disabledFor: DisabledFor | undefined
}

export const deliveryStatuses = ["pending", "delivered", "failed"] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

/** One event on its way to one endpoint, with what the last attempt met. */
export interface Delivery {
  /** `dlv_` and 32 hex characters. */
  readonly id: string
  readonly event: Event
  readonly status: DeliveryStatus
  readonly attempts: number
  readonly createdAt: number
  readonly attemptedAt: number | undefined
  /** Unix milliseconds of the next attempt; undefined where none will follow. */
  readonly nextAttemptAt: number | undefined
  readonly httpStatus: number | undefined
  /** The reason why the last attempt failed, for the operator: `shownError` makes the account's of it. */
  readonly error: string | undefined
  readonly durationMs: number | undefined
}

const unreachable = "the endpoint could not be reached"

/** The error of an attempt without a response, with the cause for the operator. */
export const unreachableError = (cause: string): string => `${unreachable} (${cause})`

/**
 * The error of a delivery as its account sees it. All attempts without a response have the same one: if a refused, a
 * filtered and a silent port differed, an account could scan networks from here. The duration of an attempt still differs,
 * up to its time limit, and the account would see as much from the time at which a delivery changes.
 */
export const shownError = (error: string): string => (error.startsWith(unreachable) ? unreachable : error)

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** Waits after each failed attempt: ten attempts in three days. */
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

export const maxAttempts = waitsMs.length + 1

/** The longest that a receiver may ask us to wait. */
export const maxRetryAfterMs = 24 * hour

/** An endpoint that fails for longer is disabled. */
export const maxFailingMs = 5 * 24 * hour

/** The share by which waits differ, so that the deliveries of an outage do not come back together. */
const jitter = 0.1

/**
 * The wait after a number of failed attempts; undefined after the last. `random` is from 0 to 1. A receiver that asks for
 * more time by `Retry-After` gets it.
 */
export const waitAfter = (attempts: number, random: number, retryAfterMs = 0): number | undefined => {
  const wait = waitsMs[attempts - 1]
  if (wait === undefined) return undefined
  return Math.max(Math.round(wait * (1 + jitter * (2 * random - 1))), Math.min(retryAfterMs, maxRetryAfterMs))
}

/** The beginning of an endpoint's secret; the rest is 32 bytes in base64. */
export const secretPrefix = "whsec_"
export const secretBytes = 32
