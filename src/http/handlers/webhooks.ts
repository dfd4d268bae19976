import { Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { maxGraceSeconds } from "../../domain/keys/grace.ts"
import { type Delivery, type Endpoint, type EventSettings, shownError } from "../../domain/webhooks/Event.ts"
import { defaultDeliveriesListed, type EventSettingsChange } from "../../domain/webhooks/WebhookRequest.ts"
import { RateLimiter } from "../../services/credits/RateLimiter.ts"
import { EventBooks } from "../../services/webhooks/EventBooks.ts"
import { EventEmails } from "../../services/webhooks/EventEmails.ts"
import { type IssuedEndpoint, Webhooks } from "../../services/webhooks/Webhooks.ts"
import { Api } from "../Api.ts"
import { currentAccount } from "../Gates.ts"
import { limitDeliveries } from "../middleware/deliveryLimit.ts"
import { announceBusy } from "../requests/body.ts"
import { CurrentIntake } from "../requests/Intake.ts"

const toDelivery = (delivery: Delivery) => ({
  id: delivery.id,
  event_id: delivery.event.id,
  type: delivery.event.type,
  data: delivery.event.data,
  status: delivery.status,
  attempts: delivery.attempts,
  created_at: delivery.createdAt,
  attempted_at: delivery.attemptedAt ?? null,
  next_attempt_at: delivery.nextAttemptAt ?? null,
  http_status: delivery.httpStatus ?? null,
  error: delivery.error === undefined ? null : shownError(delivery.error),
  duration_ms: delivery.durationMs ?? null
})

export const toWebhook = (endpoint: Endpoint) => ({
  id: endpoint.id,
  url: endpoint.url,
  events: endpoint.types,
  created_at: endpoint.createdAt,
  failing_since: endpoint.failingSince ?? null,
  disabled_at: endpoint.disabledAt ?? null,
  disabled_reason: endpoint.disabledFor ?? null
})

/** The only place where a signing secret leaves the service. */
const toIssued = ({ endpoint, secret }: IssuedEndpoint) => ({
  ...toWebhook(endpoint),
  secret: Redacted.value(secret)
})

export const toSettings = (settings: EventSettings) => ({
  low_percents: settings.lowPercents,
  low_balance: settings.lowBalance ?? null,
  email_events: settings.emailTypes
})

/** Releases the request's place while DNS resolves the webhook's host, which can take seconds. */
const awaitLookup = <A, E, R>(accountId: string, work: Effect.Effect<A, E, R>) =>
  Effect.flatMap(CurrentIntake, (intake) => intake.awaitLookup(accountId, work)).pipe(
    Effect.tapErrorTag("rate_limited", () => announceBusy)
  )

const settingsHandlers = Effect.gen(function* () {
  const books = yield* EventBooks
  const { delivers } = yield* EventEmails
  const encode = (settings: EventSettings) => ({ ...toSettings(settings), emails_available: delivers })
  return {
    settings: Effect.fnUntraced(function* () {
      return encode(yield* books.settings((yield* currentAccount).id))
    }),
    changeSettings: Effect.fnUntraced(function* ({
      payload: body
    }: {
      readonly payload: typeof EventSettingsChange.Type
    }) {
      const changed = yield* books.changeSettings((yield* currentAccount).id, {
        ...(body.low_percents === undefined ? {} : { lowPercents: body.low_percents.toSorted((a, b) => a - b) }),
        ...(body.low_balance === undefined ? {} : { lowBalance: body.low_balance }),
        ...(body.email_events === undefined ? {} : { emailTypes: body.email_events })
      })
      return encode(changed)
    })
  }
})

const limitedAccount = (limiter: RateLimiter["Service"]) =>
  Effect.tap(currentAccount, ({ id }) => limitDeliveries(limiter, id))

export const layer = HttpApiBuilder.group(
  Api,
  "webhooks",
  Effect.fn(function* (handlers) {
    const books = yield* EventBooks
    const limiter = yield* RateLimiter
    const webhooks = yield* Webhooks
    const { changeSettings, settings } = yield* settingsHandlers

    return handlers.handleAll({
      list: Effect.fnUntraced(function* () {
        return { webhooks: (yield* books.endpoints((yield* currentAccount).id)).map(toWebhook) }
      }),
      create: Effect.fnUntraced(function* ({ payload: { events = [], url } }) {
        const { id } = yield* currentAccount
        return toIssued(yield* awaitLookup(id, webhooks.create(id, url, events)))
      }),
      settings,
      changeSettings,
      change: Effect.fnUntraced(function* ({ params, payload: { events, ...change } }) {
        const types = events === undefined ? {} : { types: events }
        const { id } = yield* currentAccount
        const changed = webhooks.change(id, params.id, { ...change, ...types })
        return toWebhook(yield* change.url === undefined ? changed : awaitLookup(id, changed))
      }),
      remove: Effect.fnUntraced(function* ({ params }) {
        yield* books.removeEndpoint((yield* currentAccount).id, params.id)
      }),
      test: Effect.fnUntraced(function* ({ params }) {
        return toDelivery(yield* webhooks.test((yield* limitedAccount(limiter)).id, params.id))
      }),
      rotate: Effect.fnUntraced(function* ({ params, payload: { grace_seconds = maxGraceSeconds } }) {
        return toIssued(yield* webhooks.rotate((yield* currentAccount).id, params.id, grace_seconds * 1000))
      }),
      deliveries: Effect.fnUntraced(function* ({ params, query }) {
        const page = { after: query.cursor, limit: query.limit ?? defaultDeliveriesListed }
        const { deliveries, next } = yield* books.deliveries((yield* currentAccount).id, params.id, page)
        return { deliveries: deliveries.map(toDelivery), next_cursor: next ?? null }
      }),
      redeliver: Effect.fnUntraced(function* ({ params }) {
        const { id } = yield* limitedAccount(limiter)
        return toDelivery(yield* books.redeliver(id, params.id, params.delivery))
      })
    })
  })
)
