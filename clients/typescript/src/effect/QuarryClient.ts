import { Context, Effect, Layer, type Redacted } from "effect"
import { HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { Api } from "../../../../src/http/Api.ts"
import { schemas } from "../../../../src/http/errors.ts"

/** The client of the whole API for Effect: typed calls, and errors as a union on `_tag`. */

export interface QuarryClientOptions {
  /** The address of the deployment, such as `https://search.example.org`. */
  readonly baseUrl: string | URL
  /** The secret of an API key. Sent as `Authorization: Bearer`. */
  readonly apiKey?: string | Redacted.Redacted | undefined
}

/** Sent with each request inside `withIdempotencyKey`. */
const CurrentIdempotencyKey = Context.Reference<string | undefined>("@quarry/client/effect/IdempotencyKey", {
  defaultValue: () => undefined
})

/** Receives the `Retry-After` of the response that a call got. */
const CurrentResponse = Context.Reference<{ retryAfterSeconds?: number }>("@quarry/client/effect/Response", {
  defaultValue: () => ({})
})

/**
 * Sends an `Idempotency-Key` with the requests of an effect, so that a retry is not charged twice. Use one key for one
 * search or batch; the same key with another request is `invalid_request`.
 */
export const withIdempotencyKey: {
  (key: string): <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(effect: Effect.Effect<A, E, R>, key: string): Effect.Effect<A, E, R>
} = Effect.provideService(CurrentIdempotencyKey) as never

const withHeaders = (apiKey: QuarryClientOptions["apiKey"]) => (request: HttpClientRequest.HttpClientRequest) =>
  Effect.map(CurrentIdempotencyKey, (key) => {
    const signed = apiKey === undefined ? request : HttpClientRequest.bearerToken(request, apiKey)
    return key === undefined ? signed : HttpClientRequest.setHeader(signed, "idempotency-key", key)
  })

const noteRetryAfter = ({ headers }: HttpClientResponse.HttpClientResponse) =>
  Effect.map(CurrentResponse, (response) => {
    const seconds = headers["retry-after"]
    if (seconds !== undefined && /^\d+$/.test(seconds)) response.retryAfterSeconds = Number(seconds)
  })

const isApiError = (error: unknown): error is object =>
  typeof error === "object" && error !== null && "_tag" in error && String(error._tag) in schemas

type Call = (request: unknown) => Effect.Effect<unknown, unknown>

/** Adds the `Retry-After` of a call's response to its error. */
const withRetryAfter =
  (call: Call): Call =>
  (request) =>
    Effect.suspend(() => {
      const response: { retryAfterSeconds?: number } = {}
      return call(request).pipe(
        Effect.mapError((error) => (isApiError(error) ? Object.assign(error, response) : error)),
        Effect.provideService(CurrentResponse, response)
      )
    })

const mapValues = <A, B>(record: Readonly<Record<string, A>>, change: (value: A) => B): Readonly<Record<string, B>> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]))

type Shape = HttpApiClient.ForApi<typeof Api>

export class QuarryClient extends Context.Service<QuarryClient, Shape>()("@quarry/client/effect/QuarryClient") {
  /** Makes a client over the `HttpClient` of the context. */
  static readonly make = ({ apiKey, baseUrl }: QuarryClientOptions) =>
    Effect.map(
      HttpApiClient.make(Api, {
        baseUrl,
        transformClient: (client) =>
          client.pipe(HttpClient.mapRequestEffect(withHeaders(apiKey)), HttpClient.tap(noteRetryAfter))
      }),
      // The groups hold functions alone, and each keeps its parameters and results.
      (client) =>
        mapValues(client as unknown as Readonly<Record<string, Readonly<Record<string, Call>>>>, (group) =>
          mapValues(group, withRetryAfter)
        ) as unknown as Shape
    )

  static readonly layer = (options: QuarryClientOptions): Layer.Layer<QuarryClient, never, HttpClient.HttpClient> =>
    Layer.effect(QuarryClient, QuarryClient.make(options))
}
