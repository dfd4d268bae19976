import { Schema } from "effect"
import { graceSeconds } from "../keys/grace.ts"
import { addressFault, maxEndpointAddressCharacters } from "../net/publicAddress.ts"
import { asDigits, limitedText, Text, wholeNumber, wholeNumberMessage } from "../requests/fields.ts"
import { EventType } from "./Event.ts"

const message = "the body must be a JSON object"

/** Checks only the form. The addresses that the name resolves to are checked when it is used. */
const Address = Text.annotate({
  format: "uri",
  description: `A public https URL that receives events by POST; at most ${maxEndpointAddressCharacters} characters`
}).check(Schema.makeFilter((text: string) => addressFault(text, true) ?? true))

const uniqueTypes = (description: string) =>
  Schema.Array(EventType)
    .annotate({ message: "must be a list of event types", description })
    .check(Schema.isUnique({ message: "must name each type once" }))

const endpointTypes = uniqueTypes("Event types to send; empty or absent for all types")

export const NewWebhook = Schema.Struct({
  url: Address.pipe(Schema.annotateKey({ messageMissingKey: "is required" })),
  events: Schema.optionalKey(endpointTypes)
}).annotate({ identifier: "NewWebhook", message })

/** Absent fields keep their value. */
export const WebhookChange = Schema.Struct({
  url: Schema.optionalKey(Address),
  events: Schema.optionalKey(endpointTypes),
  disabled: Schema.optionalKey(
    Schema.Boolean.annotate({
      message: "must be true or false",
      description: "True pauses deliveries to this endpoint"
    })
  )
}).annotate({ identifier: "WebhookChange", message })

/** Limits events: each threshold causes an event. */
export const maxLowPercents = 10
const maxLowBalance = 1_000_000_000

const percentMessage = "must be a list of whole numbers from 1 to 99, each once"

/** Absent fields keep their value. */
export const EventSettingsChange = Schema.Struct({
  low_percents: Schema.optionalKey(
    Schema.Array(
      Schema.Number.annotate({ message: percentMessage }).check(
        Schema.isInt({ message: percentMessage }),
        Schema.isBetween({ minimum: 1, maximum: 99 }, { message: percentMessage })
      )
    )
      .annotate({
        message: percentMessage,
        description: "Percentages of the period's quota at which credits.low is sent; empty for none"
      })
      .check(
        Schema.isUnique({ message: percentMessage }),
        Schema.isMaxLength(maxLowPercents, { message: `must have at most ${maxLowPercents} entries` })
      )
  ),
  low_balance: Schema.optionalKey(
    Schema.NullOr(
      wholeNumber(maxLowBalance, {
        description: "credits.low is sent when pack credits fall below this number; null for never"
      })
    )
  ),
  email_events: Schema.optionalKey(uniqueTypes("Event types to send by email; empty for none"))
}).annotate({ identifier: "WebhookSettingsChange", message })

export const SecretRotation = Schema.Struct({
  grace_seconds: graceSeconds(
    "Seconds during which deliveries are also signed with the old secret; one day when absent"
  )
}).annotate({ identifier: "WebhookRotation", message })

export const maxDeliveriesListed = 100
export const defaultDeliveriesListed = 20

export const DeliveryParameters = Schema.Struct({
  cursor: Schema.optionalKey(
    limitedText(64, { pattern: "^dlv_[0-9a-f]{32}$", description: "next_cursor of the previous page." })
  ),
  limit: Schema.optionalKey(
    asDigits(
      wholeNumber(maxDeliveriesListed, {
        default: defaultDeliveriesListed,
        description: "Maximum number of deliveries to return."
      }),
      wholeNumberMessage(maxDeliveriesListed)
    )
  )
})

/** Accept any text: an unknown ID is `not_found`, not `invalid_request`. */
export const EndpointId = Schema.String.annotate({ pattern: "^whk_[0-9a-f]{32}$", description: "The webhook's id." })
export const DeliveryId = Schema.String.annotate({ pattern: "^dlv_[0-9a-f]{32}$", description: "The delivery's id." })
