import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as PageCacheRedis from "../../../src/layers/redis/PageCacheRedis.ts"
import { RedisConnection } from "../../../src/layers/redis/RedisConnection.ts"
import { maxCopyBytes, PageCache } from "../../../src/services/pages/PageCache.ts"
import { describeWithRedis, RedisServer } from "../../support/servers/RedisServer.ts"
import { pageCacheConformance, pageCopy } from "../conformance/pages/PageCache.conformance.ts"

const server = await RedisServer.make()

/** A process of its own, which waits for Redis on a busy machine. */
const replica = Layer.suspend(() =>
  Layer.provide(PageCacheRedis.layer, RedisConnection.layer({ url: server.url(), answerMs: 60_000 }))
)

describeWithRedis("PageCacheRedis", () => {
  beforeAll(() => server.start())
  afterAll(() => server.stop())

  pageCacheConformance("Redis", replica)

  it.live("R60: one replica finds what another has read, and ignores what others have written", () =>
    Effect.gen(function* () {
      const url = "https://shared.test/"
      yield* Effect.flatMap(PageCache, (cache) => cache.set(url, pageCopy(url))).pipe(
        Effect.provide(replica, { local: true })
      )
      const look = Effect.flatMap(PageCache, (cache) => cache.get(url)).pipe(Effect.provide(replica, { local: true }))
      assert.deepStrictEqual(yield* look, pageCopy(url))
      for (const name of (yield* Effect.promise(() => server.cli("KEYS", "quarry:page:*"))).split("\n")) {
        yield* Effect.promise(() => server.cli("SET", name, '{"copy":{}}'))
      }
      assert.isUndefined(yield* look)
    })
  )

  it.live("R83: a copy with too much text is dropped before it is turned into JSON", () =>
    Effect.gen(function* () {
      const url = "https://large.test/"
      const { page, ...copy } = pageCopy(url)
      let written = 0
      const withText = (characters: number) => ({
        ...copy,
        page: Object.assign({ ...page, text: "a".repeat(characters) }, { toJSON: () => void written++ })
      })
      const cache = yield* PageCache
      yield* cache.set(url, withText(maxCopyBytes + 1))
      assert.strictEqual(written, 0)
      yield* cache.set(url, withText(1))
      assert.strictEqual(written, 1)
    }).pipe(Effect.provide(replica, { local: true }))
  )
})
