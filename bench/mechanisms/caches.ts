import { Cache, Clock, Context, Duration, Effect, Layer, Redacted, Schema } from "effect"
import { Redis as LibraryRedis, Persistable, PersistedCache, Persistence } from "effect/persistence"
import type { Answer } from "../../src/domain/search/Answer.ts"
import { OrganicResult } from "../../src/domain/search/OrganicResult.ts"
import { Ranking } from "../../src/domain/search/Ranking.ts"
import * as ResultCacheMemory from "../../src/layers/memory/ResultCacheMemory.ts"
import { RedisConnection } from "../../src/layers/redis/RedisConnection.ts"
import * as ResultCacheRedis from "../../src/layers/redis/ResultCacheRedis.ts"
import { Attempts } from "../../src/services/providers/Attempts.ts"
import { Limits } from "../../src/services/providers/Limits.ts"
import { makeFind } from "../../src/services/search/Answers.ts"
import { cacheKey, ResultCache } from "../../src/services/search/ResultCache.ts"
import { deadlineIn } from "../../src/services/waiting/Deadlines.ts"
import { limits } from "../../src/testing/StandardSettings.ts"
import { searchRequest } from "../../test/support/api/requests.ts"
import * as Stores from "../support/Stores.ts"
import { compare } from "./Comparison.ts"
import { results } from "./inProcess.ts"
import { client, libraryRedis } from "./redis.ts"

/* Answers of ten results. Both sides limit a search to 15 seconds, and share the lookups of identical searches. */

const ttl = Duration.minutes(5)
const capacity = 10_000
const ranking = new Ranking(results)
const found: Answer = { provider: "meta/google", ranking, cached: false }

const ours = (cache: ResultCache["Service"]) =>
  Effect.map(
    Effect.provideService(
      makeFind(cache, () => Effect.succeed(found)),
      Limits,
      limits
    ),
    (find) => (query: string) =>
      Clock.clockWith((clock) => {
        const sendBy = deadlineIn(clock, Duration.toMillis(limits.providerTimeout))
        const request = searchRequest({ query })
        return find({ request, account: "acc_1", attempts: new Attempts(), sendBy, endIfSentAt: () => sendBy })
      })
  )

const within = <A, E, R>(lookup: Effect.Effect<A, E, R>) => Effect.timeout(lookup, limits.providerTimeout)

const inMemory = Effect.map(
  Cache.make({ capacity, timeToLive: ttl, lookup: (_: string) => Effect.succeed(found) }),
  (cache) => (query: string) => Effect.suspend(() => within(Cache.get(cache, cacheKey(searchRequest({ query })))))
)

class Search extends Persistable.Class<{ payload: { readonly key: string } }>()("Search", {
  primaryKey: ({ key }) => key,
  success: Schema.Struct({ provider: Schema.String, organic: Schema.Array(OrganicResult) })
}) {}

/** Asks Redis each time: its own memory would otherwise answer for ten seconds. */
const inRedis = Effect.map(
  PersistedCache.make((_: Search) => Effect.succeed({ provider: found.provider, organic: results }), {
    storeId: "bench",
    timeToLive: () => ttl,
    inMemoryTTL: () => Duration.zero
  }),
  (cache) => (query: string) =>
    Effect.suspend(() =>
      // A response needs the encoded results, which our cache has.
      Effect.map(
        within(cache.get(new Search({ key: cacheKey(searchRequest({ query })) }))),
        ({ organic, provider }) => ({
          provider,
          ranking: new Ranking(organic)
        })
      )
    )
)

const repeated = (find: (query: string) => Effect.Effect<unknown, unknown>) => find("http caching")

const callers = 64

/** As many searches as callers, so that no two of them share a lookup. */
const among = (find: (query: string) => Effect.Effect<unknown, unknown>) => {
  let next = 0
  return Effect.suspend(() => find(`http caching ${next++ % callers}`))
}

const distinct = (find: (query: string) => Effect.Effect<unknown, unknown>) => {
  let last = 0
  return Effect.suspend(() => find(`http caching ${last++}`))
}

export const comparisons = Effect.gen(function* () {
  const { pids, redisUrl } = yield* Stores.start
  const memory = Context.get(yield* Layer.build(ResultCacheMemory.layer({ ttl, capacity })), ResultCache)
  const connection = RedisConnection.layer({ url: Redacted.make(redisUrl) })
  const shared = Context.get(
    yield* Layer.build(Layer.provide(ResultCacheRedis.layer({ ttl }), connection)),
    ResultCache
  )
  const library = yield* inMemory
  const redis = yield* libraryRedis(yield* client(redisUrl))
  const persistence = yield* Layer.build(
    Layer.provide(Persistence.layerRedis, Layer.succeed(LibraryRedis.Redis, redis))
  )
  const own = yield* ours(memory)
  return [
    compare("an answer from the cache in memory", repeated(own), repeated(library)),
    compare("an answer that is not in memory", distinct(own), distinct(library)),
    compare(
      "an answer from the cache in Redis",
      among(yield* ours(shared)),
      among(yield* Effect.provideContext(inRedis, persistence)),
      { callers, server: pids.redis }
    )
  ]
})
