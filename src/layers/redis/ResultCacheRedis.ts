import { hash } from "node:crypto"
import { Duration, Effect, Layer, Option, Schema } from "effect"
import type { Answer } from "../../domain/search/Answer.ts"
import { OrganicResult } from "../../domain/search/OrganicResult.ts"
import { Ranking } from "../../domain/search/Ranking.ts"
import { answerBytes, maxAnswerBytes, ResultCache } from "../../services/search/ResultCache.ts"
import { RedisConnection } from "./RedisConnection.ts"

const Value = Schema.fromJsonString(Schema.Struct({ provider: Schema.String, organic: Schema.Array(OrganicResult) }))

/** Ignores entries that do not decode: another version, or another application, may have written them. */
const decode = Schema.decodeUnknownOption(Value)

/** Encodes the decoded answer again, to drop fields of another version. */
const read = (text: string): Answer | undefined =>
  Option.match(decode(text), {
    onNone: () => undefined,
    onSome: ({ organic, provider }) => ({ provider, ranking: new Ranking(organic), cached: true })
  })

const write = ({ provider, ranking }: Answer): string =>
  `{"provider":${JSON.stringify(provider)},"organic":${ranking.json}}`

const make = (options: {
  readonly ttl: Duration.Duration
}): Effect.Effect<ResultCache["Service"], never, RedisConnection> =>
  Effect.gen(function* () {
    const connection = yield* RedisConnection
    const ttlMs = Math.ceil(Duration.toMillis(options.ttl))
    const keyOf = (key: string): string => `quarry:rc:${hash("sha256", key, "base64url")}`

    return {
      get: (key) =>
        connection
          .run((client) => client.get(keyOf(key)))
          .pipe(
            Effect.map((text) => (text === null ? undefined : read(text))),
            Effect.orElseSucceed(() => undefined)
          ),
      set: (key, answer) => {
        if (ttlMs <= 0 || answerBytes(answer) > maxAnswerBytes) return Effect.void
        // The search does not wait for the write. A later `get` of this key follows it on the same connection.
        return connection.send((client) => client.set(keyOf(key), write(answer), "PX", ttlMs))
      }
    }
  })

/** While Redis is down every `get` misses, and no search fails or waits. */
export const layer = (options: { readonly ttl: Duration.Duration }): Layer.Layer<ResultCache, never, RedisConnection> =>
  Layer.effect(ResultCache, make(options))
