import { Context, Effect, Layer, Redacted } from "effect"
import { Base64 } from "effect/encoding"
import { InvalidRequest, type NotFound } from "../../domain/errors.ts"
import { type Delivery, type Endpoint, type EventType, secretBytes, secretPrefix } from "../../domain/webhooks/Event.ts"
import { Ids } from "../Ids.ts"
import { type EndpointChange, EventBooks } from "./EventBooks.ts"
import { WebhookClient } from "./WebhookClient.ts"

export interface IssuedEndpoint {
  readonly endpoint: Endpoint
  readonly secret: Redacted.Redacted
}

/** Webhook endpoints as managed by their account. Addresses are checked here and again at each delivery. */
export class Webhooks extends Context.Service<
  Webhooks,
  {
    readonly create: (
      accountId: string,
      url: string,
      types: ReadonlyArray<EventType>
    ) => Effect.Effect<IssuedEndpoint, InvalidRequest>
    readonly change: (
      accountId: string,
      id: string,
      change: EndpointChange
    ) => Effect.Effect<Endpoint, InvalidRequest | NotFound>
    readonly rotate: (accountId: string, id: string, graceMs: number) => Effect.Effect<IssuedEndpoint, NotFound>
    readonly test: (accountId: string, id: string) => Effect.Effect<Delivery, InvalidRequest | NotFound>
  }
>()("quarry/services/webhooks/Webhooks") {
  static readonly layer = Layer.effect(
    Webhooks,
    Effect.gen(function* () {
      const books = yield* EventBooks
      const client = yield* WebhookClient
      const ids = yield* Ids

      const requireOpen = (url: string) =>
        Effect.catchTag(client.check(url), "AddressClosed", ({ shown }) =>
          Effect.fail(InvalidRequest.fromIssues([{ field: "url", message: shown }]))
        )
      const makeSecret = Effect.map(ids.entropy(secretBytes), (bytes) =>
        Redacted.make(secretPrefix + Base64.encode(bytes))
      )

      return Webhooks.of({
        create: Effect.fn("Webhooks.create")(function* (accountId, url, types) {
          yield* requireOpen(url)
          const secret = yield* makeSecret
          const id = yield* ids.make("whk_")
          return { endpoint: yield* books.addEndpoint(accountId, { id, url, types, secret }), secret }
        }),
        change: Effect.fn("Webhooks.change")(function* (accountId, id, change) {
          if (change.url !== undefined) yield* requireOpen(change.url)
          return yield* books.changeEndpoint(accountId, id, change)
        }),
        rotate: Effect.fn("Webhooks.rotate")(function* (accountId, id, graceMs) {
          const secret = yield* makeSecret
          return { endpoint: yield* books.replaceSecret(accountId, id, secret, graceMs), secret }
        }),
        test: books.addTest
      })
    })
  )
}
