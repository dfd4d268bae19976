import { Duration, Effect, Layer, type Redacted } from "effect"
import { RedisInspection } from "../../services/RedisInspection.ts"
import { connect, makeClient, messageOf, probe } from "./RedisClient.ts"

/** The longest that a look waits for the answer to its probe; to connect has a limit of its own. */
const answerTime = Duration.seconds(2)

/** Looks at Redis over a connection of its own: it connects, and writes a key that expires. */
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
        orElse: () => Effect.succeed(`no answer in ${Duration.format(answerTime)}`)
      }),
      Effect.catch((message) => Effect.succeed(connectionError ?? message))
    )
    return { state: reason === null ? ("answers" as const) : ("away" as const), reason }
  }).pipe(Effect.scoped)

/** `url` is that of `RedisConnection`. */
export const layer = ({ url }: { readonly url: Redacted.Redacted }): Layer.Layer<RedisInspection> =>
  Layer.succeed(RedisInspection, { look: look(url) })
