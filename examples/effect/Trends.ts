import { Context, Effect, Layer, Ref, Schedule, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"

const Answer = Schema.Struct({
  results: Schema.Struct({ organic: Schema.Array(Schema.Struct({ title: Schema.String, url: Schema.String })) })
})

/** The addresses that a search finds. Tests replace this layer. */
export class WebSearch extends Context.Service<
  WebSearch,
  { readonly urls: (query: string) => Effect.Effect<ReadonlyArray<string>> }
>()("examples/WebSearch") {
  static readonly layer = (options: { readonly baseUrl: string; readonly apiKey: string }) =>
    Layer.effect(
      WebSearch,
      Effect.map(HttpClient.HttpClient, (client) => {
        const urls = Effect.fn("WebSearch.urls")(function* (query: string) {
          const request = HttpClientRequest.get(`${options.baseUrl}/v1/query`, { urlParams: { query } })
          const response = yield* client.execute(HttpClientRequest.bearerToken(request, options.apiKey))
          const { results } = yield* HttpClientResponse.schemaBodyJson(Answer)(response)
          return results.organic.map(({ url }) => url)
        }, Effect.orDie)
        return WebSearch.of({ urls })
      })
    ).pipe(Layer.provide(FetchHttpClient.layer))
}

/** Searches every hour and reports the addresses that were not there before. Runs until it is interrupted. */
export const watch = Effect.fn("watch")(function* (query: string, report: (url: string) => Effect.Effect<void>) {
  const search = yield* WebSearch
  const seen = yield* Ref.make<ReadonlySet<string>>(new Set())
  const look = Effect.gen(function* () {
    const urls = yield* search.urls(query)
    const before = yield* Ref.getAndUpdate(seen, (all) => new Set([...all, ...urls]))
    yield* Effect.forEach(
      urls.filter((url) => !before.has(url)),
      report,
      { discard: true }
    )
  })
  return yield* Effect.repeat(look, Schedule.spaced("1 hour"))
})
