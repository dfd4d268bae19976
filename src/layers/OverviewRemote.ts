import { Duration, Effect, Layer } from "effect"
import { FetchHttpClient, HttpClient, HttpClientResponse } from "effect/http"
import { Status } from "../domain/Status.ts"
import { Overview } from "../services/Overview.ts"

const answerTime = Duration.seconds(5)

/**
 * The overview of a running server, from its private listener. The embedded database can be opened by one process only,
 * so that a command cannot look into that of a running server. Fails where no server answers at `origin`.
 */
export const layer = (origin: string) =>
  Layer.effect(
    Overview,
    Effect.gen(function* () {
      const client = HttpClient.filterStatusOk(yield* HttpClient.HttpClient)
      const status = yield* client
        .get(`${origin}/status`)
        .pipe(Effect.flatMap(HttpClientResponse.schemaBodyJson(Status)), Effect.timeout(answerTime))
      return Overview.of({ look: Effect.succeed(status) })
    })
  ).pipe(Layer.provide(FetchHttpClient.layer))
