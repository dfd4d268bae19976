import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { deliveryStatuses, EventType, eventTypes } from "../../domain/Event.ts"
import {
  DeliveryId,
  DeliveryParameters,
  EndpointId,
  EventSettingsChange,
  NewWebhook,
  SecretRotation,
  WebhookChange
} from "../../domain/WebhookRequest.ts"
import { accepting } from "../Callers.ts"
import { InternalError, InvalidRequest, NotFound } from "../errors.ts"
import { Authentication, RateLimiting, RequestDecoding } from "../Middleware.ts"
import { Moment, momentOrNull } from "../wire.ts"

const fields = {
  id: Schema.String.annotate({ description: "whk_ and 32 hex characters" }),
  url: Schema.String,
  events: Schema.Array(EventType).annotate({ description: "The types that it gets; empty for every type" }),
  created_at: Moment,
  failing_since: momentOrNull("The first failure since the last success; null while it works"),
  disabled_at: momentOrNull("Null while it gets events"),
  disabled_reason: Schema.NullOr(Schema.Literals(["account", "failing", "gone"])).annotate({
    description: "account: by a person. failing: it failed for five days. gone: it answered 410"
  })
}

export const Webhook = Schema.Struct(fields).annotate({ identifier: "Webhook" })

export const IssuedWebhook = Schema.Struct({
  ...fields,
  secret: Schema.String.annotate({
    description: "whsec_ and base64: what deliveries are signed with. Shown in this response and nowhere else"
  })
}).annotate({ identifier: "IssuedWebhook" })

export const WebhookList = Schema.Struct({ webhooks: Schema.Array(Webhook) }).annotate({ identifier: "Webhooks" })

export const WebhookSettings = Schema.Struct({
  low_percents: Schema.Array(Schema.Int).annotate({
    description: "Percents of a period's quota at which credits.low is sent"
  }),
  low_balance: Schema.NullOr(Schema.Int).annotate({
    description: "Pack credits under which credits.low is sent; null for none"
  }),
  email_events: Schema.Array(EventType).annotate({ description: "The types that are sent by email" }),
  emails_available: Schema.Boolean.annotate({ description: "False where this deployment has no mail server" })
}).annotate({ identifier: "WebhookSettings" })

export const WebhookDelivery = Schema.Struct({
  id: Schema.String.annotate({ description: "dlv_ and 32 hex characters" }),
  event_id: Schema.String.annotate({ description: "The webhook-id, the same in every delivery of the event" }),
  type: Schema.Literals([...eventTypes, "webhook.test"]),
  data: Schema.Record(Schema.String, Schema.Json).annotate({ description: "As in the body that was sent" }),
  status: Schema.Literals(deliveryStatuses).annotate({ description: "failed: no attempt follows" }),
  attempts: Schema.Int,
  created_at: Moment,
  attempted_at: momentOrNull("The last attempt; null before the first"),
  next_attempt_at: momentOrNull("Null where none follows"),
  http_status: Schema.NullOr(Schema.Int).annotate({ description: "Of the last answer; null where there was none" }),
  error: Schema.NullOr(Schema.String).annotate({ description: "Why the last attempt failed" }),
  duration_ms: Schema.NullOr(Schema.Int)
}).annotate({ identifier: "WebhookDelivery" })

export const WebhookDeliveries = Schema.Struct({
  deliveries: Schema.Array(WebhookDelivery),
  next_cursor: Schema.NullOr(Schema.String).annotate({ description: "The cursor of the next page; null on the last" })
}).annotate({ identifier: "WebhookDeliveries" })

const params = { id: EndpointId }

const manage = HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.get("list", "/v1/webhooks", { success: WebhookList, error: InternalError }).annotateMerge(
      OpenApi.annotations({
        identifier: "listWebhooks",
        summary: "The account's webhooks",
        description: "Newest first."
      })
    )
  )
  .add(
    HttpApiEndpoint.post("create", "/v1/webhooks", {
      payload: NewWebhook,
      success: IssuedWebhook.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "createWebhook",
        summary: "Add a webhook",
        description:
          "Events of the account are posted to it by Standard Webhooks. Its address must be https and on the public " +
          "internet. An account has at most 10."
      })
    )
  )
  .add(
    HttpApiEndpoint.get("settings", "/v1/webhooks/settings", {
      success: WebhookSettings,
      error: InternalError
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "webhookSettings",
        summary: "Thresholds and emails",
        description: "When credits.low is sent, and which events are sent by email too."
      })
    )
  )
  .add(
    HttpApiEndpoint.patch("changeSettings", "/v1/webhooks/settings", {
      payload: EventSettingsChange,
      success: WebhookSettings,
      error: [InvalidRequest, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "changeWebhookSettings",
        summary: "Change thresholds and emails",
        description: "What is absent stays as it is. A threshold that is crossed already is no event."
      })
    )
  )
  .add(
    HttpApiEndpoint.patch("change", "/v1/webhooks/:id", {
      params,
      payload: WebhookChange,
      success: Webhook,
      error: [InvalidRequest, NotFound, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "changeWebhook",
        summary: "Change a webhook",
        description:
          "What is absent stays as it is. Deliveries that wait end when it is disabled, and can be sent again. Another address " +
          "drops them: events from before the change are not sent to it."
      })
    )
  )
  .add(
    HttpApiEndpoint.delete("remove", "/v1/webhooks/:id", {
      params,
      success: HttpApiSchema.NoContent,
      error: [NotFound, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "deleteWebhook",
        summary: "Delete a webhook",
        description: "Its deliveries and their log go with it."
      })
    )
  )

export class WebhooksGroup extends manage
  .add(
    HttpApiEndpoint.post("test", "/v1/webhooks/:id/test", {
      params,
      success: WebhookDelivery.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, NotFound, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "testWebhook",
        summary: "Send a test",
        description:
          "Sends webhook.test, whatever types it has chosen. The delivery shows what came of it. An account can ask for 12 " +
          "tests and redeliveries together in a minute."
      })
    )
  )
  .add(
    HttpApiEndpoint.post("rotate", "/v1/webhooks/:id/rotate", {
      params,
      payload: SecretRotation,
      success: IssuedWebhook,
      error: [InvalidRequest, NotFound, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "rotateWebhook",
        summary: "Replace a webhook's secret",
        description: "For a day, or for grace_seconds, deliveries have a signature by the old secret too."
      })
    )
  )
  .add(
    HttpApiEndpoint.get("deliveries", "/v1/webhooks/:id/deliveries", {
      params,
      query: DeliveryParameters,
      success: WebhookDeliveries,
      error: [InvalidRequest, NotFound, InternalError]
    })
      .middleware(RequestDecoding)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "webhookDeliveries",
          summary: "Deliveries of a webhook",
          description: "Newest first, of the last 30 days."
        })
      )
  )
  .add(
    HttpApiEndpoint.post("redeliver", "/v1/webhooks/:id/deliveries/:delivery/redeliver", {
      params: { ...params, delivery: DeliveryId },
      success: WebhookDelivery.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, NotFound, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "redeliverWebhook",
        summary: "Send an event again",
        description:
          "A new delivery of the same event, with the same webhook-id. It counts as a test does, and fails for an event from " +
          "before the webhook had its present address."
      })
    )
  )
  .annotateEndpointsMerge(accepting("session"))
  .middleware(RateLimiting)
  .middleware(Authentication)
  .annotateMerge(
    OpenApi.annotations({ title: "Webhooks", description: "Events of the signed-in account, posted and emailed" })
  ) {}
