import { Duration, Effect, Layer, type Redacted } from "effect"
import { RedisInspection } from "../../services/operations/RedisInspection.ts"
import { connect, makeClient, messageOf, probe } from "./RedisClient.ts"

const answerTime = Duration.seconds(2)

const look = (url: Redacted.Redacted) =>
  Effect.gen(function* () {
    let connectionError: string | undefined
    const client = yield* Effect.acquireRelease(
      Effect.sync(() => makeClient(url).on("error", (error) => (connectionError = messageOf(error)))),
      (client) => Effect.sync(() => client.disconnect())
    )
    yield* connect(client)
    const reason = yield* Effect.tryPromise({ try: () => probe(client), catch: messageOf }).pipe(
      Effect.as(null),
      Effect.timeoutOrElse({
        duration: answerTime,
        orElse: () => Effect.succeed(`no response within ${Duration.format(answerTime)}`)
      }),
      Effect.catch((message) => Effect.succeed(connectionError ?? message))
    )
    return { state: reason === null ? ("answers" as const) : ("away" as const), reason }
  }).pipe(Effect.scoped)

export const layer = ({ url }: { readonly url: Redacted.Redacted }): Layer.Layer<RedisInspection> =>
  Layer.succeed(RedisInspection, { look: look(url) })
