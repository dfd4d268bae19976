import { Data, Duration, Effect, Layer } from "effect"
import { FetchHttpClient, HttpClient, HttpClientResponse } from "effect/http"
import { Status } from "../domain/operations/Status.ts"
import { Overview } from "../services/operations/Overview.ts"

/** The port belongs to another deployment, which does not use an embedded database. */
class OtherDeployment extends Data.TaggedError("OtherDeployment") {}

const answerTime = Duration.seconds(5)

/** Asks the running server, as only one process can open the embedded database. Fails if `origin` is unreachable. */
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
