import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { builders } from "../../domain/accounts/Role.ts"
import { deliveryStatuses, EventType, eventTypes } from "../../domain/webhooks/Event.ts"
import {
  DeliveryId,
  DeliveryParameters,
  EndpointId,
  EventSettingsChange,
  NewWebhook,
  SecretRotation,
  WebhookChange
} from "../../domain/webhooks/WebhookRequest.ts"
import { acceptingSessions } from "../Callers.ts"
import { InternalError, InvalidRequest, NotFound } from "../errors.ts"
import { BodyIsOptional, Gates, RequestDecoding } from "../Gates.ts"
import { Moment, momentOrNull } from "../timestamps.ts"

const fields = {
  id: Schema.String.annotate({ description: "whk_ and 32 hex characters" }),
  url: Schema.String,
  events: Schema.Array(EventType).annotate({ description: "Event types sent to this webhook; empty for all types" }),
  created_at: Moment,
  failing_since: momentOrNull("The first failure since the last success; null if the last delivery succeeded"),
  disabled_at: momentOrNull("Null while the webhook is enabled"),
  disabled_reason: Schema.NullOr(Schema.Literals(["account", "failing", "gone"])).annotate({
    description:
      "account: disabled by a person. failing: deliveries failed for five days. gone: the endpoint returned 410"
  })
}

export const Webhook = Schema.Struct(fields).annotate({ identifier: "Webhook" })

export const IssuedWebhook = Schema.Struct({
  ...fields,
  secret: Schema.String.annotate({
    description: "The signing secret: whsec_ and Base64. It is shown only in this response"
  })
}).annotate({ identifier: "IssuedWebhook" })

export const WebhookList = Schema.Struct({ webhooks: Schema.Array(Webhook) }).annotate({ identifier: "Webhooks" })

export const WebhookSettings = Schema.Struct({
  low_percents: Schema.Array(Schema.Int).annotate({
    description: "Percentages of a period's quota at which credits.low is sent"
  }),
  low_balance: Schema.NullOr(Schema.Int).annotate({
    description: "Number of pack credits below which credits.low is sent; null to disable"
  }),
  email_events: Schema.Array(EventType).annotate({ description: "Event types sent by email" }),
  emails_available: Schema.Boolean.annotate({ description: "False if this deployment has no mail server" })
}).annotate({ identifier: "WebhookSettings" })

export const WebhookDelivery = Schema.Struct({
  id: Schema.String.annotate({ description: "dlv_ and 32 hex characters" }),
  event_id: Schema.String.annotate({ description: "The webhook-id header; the same in every delivery of the event" }),
  type: Schema.Literals([...eventTypes, "webhook.test"]),
  data: Schema.Record(Schema.String, Schema.Json).annotate({
    description: "The data of the event, as sent in the body"
  }),
  status: Schema.Literals(deliveryStatuses).annotate({ description: "failed: there are no more attempts" }),
  attempts: Schema.Int,
  created_at: Moment,
  attempted_at: momentOrNull("The last attempt; null before the first attempt"),
  next_attempt_at: momentOrNull("Null if there are no more attempts"),
  http_status: Schema.NullOr(Schema.Int).annotate({
    description: "The status of the last response; null if there was none"
  }),
  error: Schema.NullOr(Schema.String).annotate({ description: "Why the last attempt failed" }),
  duration_ms: Schema.NullOr(Schema.Int)
}).annotate({ identifier: "WebhookDelivery" })

export const WebhookDeliveries = Schema.Struct({
  deliveries: Schema.Array(WebhookDelivery),
  next_cursor: Schema.NullOr(Schema.String).annotate({ description: "The cursor of the next page; null on the last" })
}).annotate({ identifier: "WebhookDeliveries" })

const params = { id: EndpointId }

export class WebhooksGroup extends HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.get("list", "/v1/webhooks", { success: WebhookList, error: InternalError }).annotateMerge(
      OpenApi.annotations({
        identifier: "listWebhooks",
        summary: "The account's webhooks",
        description: "Newest first."
      })
    ),
    HttpApiEndpoint.post("create", "/v1/webhooks", {
      payload: NewWebhook,
      success: IssuedWebhook.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, InternalError]
    })
      .middleware(RequestDecoding)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "createWebhook",
          summary: "Add a webhook",
          description:
            "Sends the account's events to a URL as signed POST requests (Standard Webhooks). The URL must use https and be " +
            "on the public internet. An account can have at most 10 webhooks."
        })
      ),
    HttpApiEndpoint.get("settings", "/v1/webhooks/settings", {
      success: WebhookSettings,
      error: InternalError
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "webhookSettings",
        summary: "Thresholds and emails",
        description: "When credits.low is sent, and which events are also sent by email."
      })
    ),
    HttpApiEndpoint.patch("changeSettings", "/v1/webhooks/settings", {
      payload: EventSettingsChange,
      success: WebhookSettings,
      error: [InvalidRequest, InternalError]
    })
      .middleware(RequestDecoding)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "changeWebhookSettings",
          summary: "Change thresholds and emails",
          description: "Fields that are absent keep their values. A threshold that was already crossed sends nothing."
        })
      ),
    HttpApiEndpoint.patch("change", "/v1/webhooks/:id", {
      params,
      payload: WebhookChange,
      success: Webhook,
      error: [InvalidRequest, NotFound, InternalError]
    })
      .middleware(RequestDecoding)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "changeWebhook",
          summary: "Change a webhook",
          description:
            "Fields that are absent keep their values. Disabling the webhook stops pending deliveries, which you can send again " +
            "later. Changing the URL drops them: earlier events are never sent to the new URL."
        })
      ),
    HttpApiEndpoint.delete("remove", "/v1/webhooks/:id", {
      params,
      success: HttpApiSchema.NoContent,
      error: [NotFound, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "deleteWebhook",
        summary: "Delete a webhook",
        description: "Also deletes its deliveries and their log."
      })
    ),
    HttpApiEndpoint.post("test", "/v1/webhooks/:id/test", {
      params,
      success: WebhookDelivery.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, NotFound, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "testWebhook",
        summary: "Send a test",
        description:
          "Sends a webhook.test event, regardless of the webhook's event types. The delivery shows the outcome. An account " +
          "can request 12 tests and redeliveries per minute in total."
      })
    ),
    HttpApiEndpoint.post("rotate", "/v1/webhooks/:id/rotate", {
      params,
      payload: SecretRotation,
      success: IssuedWebhook,
      error: [InvalidRequest, NotFound, InternalError]
    })
      .middleware(RequestDecoding)
      .annotate(BodyIsOptional, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "rotateWebhook",
          summary: "Replace a webhook's secret",
          description: "Deliveries are also signed with the old secret for grace_seconds, one day by default."
        })
      ),
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
          description: "Deliveries of the last 30 days, newest first."
        })
      ),
    HttpApiEndpoint.post("redeliver", "/v1/webhooks/:id/deliveries/:delivery/redeliver", {
      params: { ...params, delivery: DeliveryId },
      success: WebhookDelivery.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, NotFound, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "redeliverWebhook",
        summary: "Send an event again",
        description:
          "Creates a new delivery of the same event with the same webhook-id. It counts toward the limit on tests, and fails " +
          "if the event is older than the webhook's current URL."
      })
    )
  )
  .pipe(
    acceptingSessions({
      list: builders,
      create: builders,
      settings: builders,
      changeSettings: builders,
      change: builders,
      remove: builders,
      test: builders,
      rotate: builders,
      deliveries: builders,
      redeliver: builders
    })
  )
  .middleware(Gates)
  .annotateMerge(
    OpenApi.annotations({ title: "Webhooks", description: "The signed-in account's events, sent by POST and email" })
  ) {}
