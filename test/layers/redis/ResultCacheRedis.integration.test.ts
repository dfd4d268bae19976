import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, beforeEach, it } from "@effect/vitest"
import { Duration, Effect, Layer, type Redacted } from "effect"
import type { Answer } from "../../../src/domain/search/Answer.ts"
import { Ranking } from "../../../src/domain/search/Ranking.ts"
import { RedisConnection } from "../../../src/layers/redis/RedisConnection.ts"
import { layer } from "../../../src/layers/redis/ResultCacheRedis.ts"
import { ResultCache } from "../../../src/services/search/ResultCache.ts"
import { searchRequest } from "../../support/api/requests.ts"
import { describeWithRedis, RedisCluster, RedisServer } from "../../support/servers/RedisServer.ts"
import { searchCache } from "../../support/Time.ts"
import { resultCacheConformance } from "../conformance/search/ResultCache.conformance.ts"

const ttl = Duration.minutes(5)

const server = await RedisServer.make()

/** The look into Redis comes before each lookup. On a busy machine it takes less than another process that asks Redis. */
const settleOn = (server: RedisServer | undefined) =>
  Effect.promise(() => Promise.all([sleep(40), server?.cli("PING")])).pipe(Effect.asVoid)

/** Redis has every answer: a busy machine may keep it from answering, and then a search would go without it. */
const patient = (url: Redacted.Redacted) => RedisConnection.layer({ url, answerMs: 60_000 })

/** A process of its own: nothing but Redis is shared with another. */
const replica = (options?: { readonly ttl: Duration.Duration }) =>
  Layer.provide(layer(options ?? { ttl }), patient(server.url()))

const result = {
  position: 1,
  title: 'quotes " and \u{1F600}',
  url: "https://a.test/?q=é",
  domain: "a.test",
  snippet: "lone \uD800 surrogate"
}
const found: Answer = { provider: 'p "', ranking: new Ranking([result]), cached: false }

/** One search in a replica of its own, and whether its answer was there already. */
const search = (query: string, answer: Answer = found, options?: { readonly ttl: Duration.Duration }) =>
  Effect.flatMap(ResultCache, (cache) => searchCache(cache, searchRequest({ query }), Effect.succeed(answer))).pipe(
    Effect.provide(replica(options), { local: true })
  )

const keys = Effect.promise(async () =>
  (await server.cli("KEYS", "*")).split("\n").filter((key) => key.includes(":rc:"))
)

describeWithRedis("ResultCacheRedis on one Redis", () => {
  beforeAll(() => server.start())
  beforeEach(() => server.start())
  beforeEach(() => server.cli("FLUSHALL"))
  afterAll(() => server.stop())

  resultCacheConformance("Redis", { layer: replica(), settle: settleOn(server) })

  it.live("R15: what one replica has looked up, another answers", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* search("shared"), found)
      assert.deepStrictEqual(yield* search("shared", { provider: "other", ranking: new Ranking([]), cached: false }), {
        ...found,
        cached: true
      })
    })
  )

  it.live("keeps an answer for its time, under a key that does not show the query", () =>
    Effect.gen(function* () {
      yield* search("secret plans")
      const [key = "", ...others] = yield* keys
      assert.match(key, /^quarry:rc:[\w-]{43}$/)
      assert.deepStrictEqual(others, [])
      const leftMs = Number(yield* Effect.promise(() => server.cli("PTTL", key)))
      assert.isAtMost(leftMs, Duration.toMillis(ttl))
      assert.isAbove(leftMs, Duration.toMillis(ttl) - 10_000)
    })
  )

  it.live("keeps nothing when it keeps for no time", () =>
    Effect.gen(function* () {
      yield* search("unkept", found, { ttl: Duration.zero })
      assert.deepStrictEqual(yield* keys, [])
    })
  )

  it.live("keeps no answer above 256 KiB", () =>
    Effect.gen(function* () {
      const large = {
        provider: "p",
        ranking: new Ranking([{ ...result, snippet: "é".repeat(131_072) }]),
        cached: false
      }
      assert.isFalse((yield* search("large", large)).cached)
      assert.deepStrictEqual(yield* keys, [])
    })
  )

  for (const poison of [
    "",
    "not JSON",
    "null",
    '{"provider":"p"}',
    '{"provider":"p","rows":[{"url":"https://a.test/","title":"","snippet":""}]}',
    '{"provider":"p","organic":[{"position":1,"title":1,"url":"https://a.test/","domain":"a.test","snippet":""}]}'
  ]) {
    it.live(`ignores a malformed entry, and replaces it: ${JSON.stringify(poison)}`, () =>
      Effect.gen(function* () {
        yield* search("poisoned")
        const [key = ""] = yield* keys
        yield* Effect.promise(() => server.cli("SET", key, poison))
        assert.deepStrictEqual(yield* search("poisoned"), found)
        assert.deepStrictEqual(yield* search("poisoned"), { ...found, cached: true })
      })
    )
  }

  it.live("R28: is empty while Redis is down, and fails no search", () =>
    Effect.gen(function* () {
      const cache = yield* ResultCache
      const get = searchCache(cache, searchRequest({ query: "frozen" }), Effect.succeed(found))
      yield* get
      server.signal("SIGSTOP")
      const before = performance.now()
      assert.isFalse((yield* get).cached)
      const firstMs = performance.now() - before
      for (let times = 0; times < 100; times++) assert.isFalse((yield* get).cached)
      const othersMs = performance.now() - before - firstMs
      server.signal("SIGCONT")
      assert.isAtMost(firstMs, 250)
      assert.isAtMost(othersMs, 250)
    }).pipe(Effect.provide(Layer.provide(layer({ ttl }), RedisConnection.layer({ url: server.url() }))))
  )
})

const cluster = await RedisCluster.make()

describeWithRedis("ResultCacheRedis on a Redis Cluster", () => {
  beforeAll(() => cluster.start())
  afterAll(() => cluster.stop())

  const onCluster = Layer.provide(layer({ ttl }), patient(cluster.url()))
  resultCacheConformance("Redis Cluster", { layer: onCluster, settle: settleOn(cluster.nodes[0]) })
})
