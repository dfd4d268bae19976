import { Data, Duration, Effect, Layer } from "effect"
import { FetchHttpClient, HttpClient, HttpClientResponse } from "effect/http"
import { Status } from "../domain/Status.ts"
import { Overview } from "../services/Overview.ts"

/** Another deployment has the port: it does not use an embedded database. */
class OtherDeployment extends Data.TaggedError("OtherDeployment") {}

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
      if (status.database.kind !== "embedded") return yield* new OtherDeployment()
      return Overview.of({ look: Effect.succeed(status) })
    })
  ).pipe(Layer.provide(FetchHttpClient.layer))
