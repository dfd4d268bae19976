import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "@effect/vitest"
import { Effect, Layer, type Redacted } from "effect"
import { Redis } from "ioredis"
import { layer, script } from "../../../src/layers/redis/RateLimiterRedis.ts"
import { RedisConnection } from "../../../src/layers/redis/RedisConnection.ts"
import { RateLimiter } from "../../../src/services/credits/RateLimiter.ts"
import { describeWithRedis, RedisCluster, RedisServer } from "../../support/servers/RedisServer.ts"
import { rateLimiterConformance } from "../conformance/credits/RateLimiter.conformance.ts"

/** Makes every counted request older by ARGV[1] microseconds, which is how time passes for a log in Redis. */
const age = `
for _, log in ipairs(redis.call("KEYS", "quarry:rl:*")) do
  for index, at in ipairs(redis.call("LRANGE", log, 0, -1)) do
    redis.call("LSET", log, index - 1, string.format("%.0f", at - ARGV[1]))
  end
end`

/** Redis counts every request: a busy machine may keep it from answering, and then each replica would count by itself. */
const patient = (url: Redacted.Redacted) => RedisConnection.layer({ url, answerMs: 60_000 })

const conformance = (name: string, nodes: ReadonlyArray<RedisServer>, connection: Layer.Layer<RedisConnection>) =>
  rateLimiterConformance(name, {
    layer: Layer.provide(layer, connection),
    elapse: (ms) => Effect.promise(() => Promise.all(nodes.map((it) => it.cli("EVAL", age, "0", String(ms * 1000))))),
    now: Effect.promise(async () => {
      const [seconds, micros] = ((await nodes[0]?.cli("TIME")) ?? "").split("\n")
      return Number(seconds) * 1000 + Number(micros) / 1000
    }),
    slackMs: 2_000
  })

const server = await RedisServer.make()

describeWithRedis("RateLimiterRedis on one Redis", () => {
  beforeAll(() => server.start())
  beforeEach(() => server.start())
  afterAll(() => server.stop())

  conformance("Redis", [server], patient(server.url()))

  it.live("R27: replicas together admit exactly `limit`", () =>
    Effect.gen(function* () {
      const replica = Effect.gen(function* () {
        const { hit } = yield* RateLimiter
        return yield* Effect.forEach(Array.from({ length: 200 }), () => hit({ credential: "shared", limit: 100 }), {
          concurrency: 25
        })
      }).pipe(Effect.provide(Layer.provide(layer, patient(server.url())), { local: true }))
      const decisions = (yield* Effect.all([replica, replica, replica, replica], { concurrency: 4 })).flat()
      assert.strictEqual(decisions.length, 800)
      assert.strictEqual(decisions.filter(({ admitted }) => admitted).length, 100)
    })
  )

  describe("its script", () => {
    let redis: Redis
    beforeAll(() => {
      redis = new Redis(server.port)
    })
    afterAll(() => redis.disconnect())

    const windowMicros = 20_000
    const hit = async (client: Redis, key: string, limit: number, window = windowMicros) => {
      const [admitted, counted, oldest, now] = (await client.eval(script, 1, key, limit, window)) as Array<number>
      return { admitted: admitted === 1, counted: counted ?? -1, oldest: oldest ?? -1, now: now ?? -1 }
    }

    it("R27: decides as a count over the whole history does, for any arrivals", async () => {
      let admissions = 0
      let refusals = 0
      // On a machine that does other work more time passes between requests, and fewer are refused.
      for (let round = 0; round < 12 || admissions <= 100 || refusals <= 100; round++) {
        const limit = 1 + Math.floor(Math.random() * 30)
        const history: Array<number> = []
        const judge = (decision: Awaited<ReturnType<typeof hit>>) => {
          const counted = history.filter((at) => at > decision.now - windowMicros)
          assert.strictEqual(decision.admitted, counted.length < limit)
          if (decision.admitted) history.push(decision.now)
          assert.strictEqual(decision.counted, counted.length + (decision.admitted ? 1 : 0))
          assert.strictEqual(decision.oldest, counted[0] ?? decision.now)
          if (decision.admitted) admissions++
          else refusals++
        }
        for (let burst = 0; burst < 12; burst++) {
          const size = 1 + Math.floor(Math.random() * 12)
          const hits = Array.from({ length: size }, () => hit(redis, `history-${round}`, limit))
          for (const decision of await Promise.all(hits)) judge(decision)
          await sleep(Math.random() * 12)
        }
      }
    })

    it("R27: of requests over four connections no window admits more than `limit`, and none refuses below it", async () => {
      const limit = 10
      const clients = Array.from({ length: 4 }, () => new Redis(server.port))
      const decisions: Array<Awaited<ReturnType<typeof hit>>> = []
      await Promise.all(
        clients.map(async (client) => {
          for (let count = 0; count < 150; count++) {
            decisions.push(await hit(client, "four", limit))
            await sleep(Math.random() * 3)
          }
        })
      )
      for (const client of clients) client.disconnect()
      const admittedAt = decisions.filter(({ admitted }) => admitted).map(({ now }) => now)
      assert.isAbove(admittedAt.length, 5 * limit)
      for (const { admitted, now } of decisions) {
        const counted = admittedAt.filter((at) => at > now - windowMicros && at <= now).length
        if (admitted) assert.isAtMost(counted, limit)
        else assert.strictEqual(counted, limit)
      }
    })

    it("keeps no more than `limit` entries, and only while they count", async () => {
      for (let count = 0; count < 50; count++) await hit(redis, "bounded", 7, 60_000_000)
      assert.strictEqual(await redis.llen("bounded"), 7)
      const ttlMs = await redis.pttl("bounded")
      assert.isAbove(ttlMs, 60_000)
      assert.isAtMost(ttlMs, 61_000)
    })

    it("does not forget what it counted when the store's clock is set back a little", async () => {
      const { now } = await hit(redis, "little", 3)
      const ahead = now + windowMicros / 2
      await redis.lset("little", 0, ahead)
      const decision = await hit(redis, "little", 3)
      assert.deepStrictEqual([decision.counted, decision.now, decision.oldest], [2, ahead, ahead])
    })

    it("does not refuse until the clock has caught up when it was set back by more than a window", async () => {
      const { now } = await hit(redis, "much", 1)
      await redis.lset("much", 0, now + 3_600_000_000)
      const decision = await hit(redis, "much", 1)
      assert.deepStrictEqual([decision.admitted, decision.counted, decision.oldest], [true, 1, decision.now])
    })
  })
})

const cluster = await RedisCluster.make()

describeWithRedis("RateLimiterRedis on a Redis Cluster", () => {
  beforeAll(() => cluster.start())
  afterAll(() => cluster.stop())

  conformance("Redis Cluster", cluster.nodes, patient(cluster.url()))

  it.live("spreads the credentials over the nodes", () =>
    Effect.gen(function* () {
      const { hit } = yield* RateLimiter
      yield* Effect.forEach(Array.from({ length: 30 }), (_, index) => hit({ credential: `spread-${index}`, limit: 1 }))
      const keys = yield* Effect.promise(() => Promise.all(cluster.nodes.map((it) => it.cli("KEYS", "*{spread-*}"))))
      const counts = keys.map((lines) => lines.split("\n").filter((line) => line !== "").length)
      assert.strictEqual(
        counts.reduce((sum, count) => sum + count),
        30
      )
      for (const count of counts) assert.isAbove(count, 0)
    }).pipe(Effect.provide(Layer.provide(layer, patient(cluster.url()))))
  )
})
