import { Schema } from "effect"
import { EventType } from "./Event.ts"
import { asDigits, decoder, limitedText, Text, wholeNumber, wholeNumberMessage } from "./fields.ts"
import { graceSeconds } from "./grace.ts"
import { addressFault, maxEndpointAddressCharacters } from "./publicAddress.ts"

/** The bodies and parameters of the webhook routes (R53). */

const message = "the body must be a JSON object"

/** The form of an address. The deployment and what its name stands for decide later if it is open. */
const Address = Text.annotate({
  format: "uri",
  description: `An https address on the public internet that takes events by POST, of at most ${maxEndpointAddressCharacters} characters`
}).check(Schema.makeFilter((text: string) => addressFault(text, true) ?? true))

const uniqueTypes = (description: string) =>
  Schema.Array(EventType)
    .annotate({ message: "must be a list of event types", description })
    .check(Schema.isUnique({ message: "must name each type once" }))

const endpointTypes = uniqueTypes("The types that it gets; empty or absent for every type")

/** The body of `POST /v1/webhooks`. */
export const NewWebhook = Schema.Struct({
  url: Address.pipe(Schema.annotateKey({ messageMissingKey: "is required" })),
  events: Schema.optionalKey(endpointTypes)
}).annotate({ identifier: "NewWebhook", message })

/** The body of `PATCH /v1/webhooks/{id}`. What is absent stays as it is. */
export const WebhookChange = Schema.Struct({
  url: Schema.optionalKey(Address),
  events: Schema.optionalKey(endpointTypes),
  disabled: Schema.optionalKey(
    Schema.Boolean.annotate({
      message: "must be true or false",
      description: "True ends its deliveries until it is false again"
    })
  )
}).annotate({ identifier: "WebhookChange", message })

/** Thresholds of a quota: more would be a stream of events. */
export const maxLowPercents = 10
const maxLowBalance = 1_000_000_000

const percentMessage = "must be a list of whole numbers from 1 to 99, each once"

/** The body of `PATCH /v1/webhooks/settings`. What is absent stays as it is. */
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
        description: "Percents of a period's quota at which credits.low is sent; empty for none"
      })
      .check(
        Schema.isUnique({ message: percentMessage }),
        Schema.isMaxLength(maxLowPercents, { message: `must have at most ${maxLowPercents} entries` })
      )
  ),
  low_balance: Schema.optionalKey(
    Schema.NullOr(
      wholeNumber(maxLowBalance, { description: "Pack credits under which credits.low is sent; null for none" })
    )
  ),
  email_events: Schema.optionalKey(uniqueTypes("The types that are sent by email; empty for none"))
}).annotate({ identifier: "WebhookSettingsChange", message })

/** The body of `POST /v1/webhooks/{id}/rotate`. */
export const SecretRotation = Schema.Struct({
  grace_seconds: graceSeconds("For so long deliveries have signatures by the old secret too; a day when absent")
}).annotate({ identifier: "WebhookRotation", message })

export const maxDeliveriesListed = 100
export const defaultDeliveriesListed = 20

/** The parameters of `GET /v1/webhooks/{id}/deliveries`. A cursor is the id of a page's last delivery. */
export const DeliveryParameters = Schema.Struct({
  cursor: Schema.optionalKey(
    limitedText(64, { pattern: "^dlv_[0-9a-f]{32}$", description: "next_cursor of the page before." })
  ),
  limit: Schema.optionalKey(
    asDigits(
      wholeNumber(maxDeliveriesListed, { default: defaultDeliveriesListed, description: "Most deliveries wanted." }),
      wholeNumberMessage(maxDeliveriesListed)
    )
  )
})

/** Ids in a path. Any text is taken where one is looked up, because an unknown id is `not_found`. */
export const EndpointId = Schema.String.annotate({ pattern: "^whk_[0-9a-f]{32}$", description: "The webhook's id." })
export const DeliveryId = Schema.String.annotate({ pattern: "^dlv_[0-9a-f]{32}$", description: "The delivery's id." })

export const parseNewWebhook = decoder(NewWebhook)
export const parseWebhookChange = decoder(WebhookChange)
export const parseEventSettingsChange = decoder(EventSettingsChange)
export const parseSecretRotation = decoder(SecretRotation)
