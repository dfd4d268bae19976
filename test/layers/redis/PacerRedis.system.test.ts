import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, beforeEach, it } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import * as ProviderFile from "../../../src/layers/providers/ProviderFile.ts"
import { UpstreamClient } from "../../../src/layers/providers/UpstreamClient.ts"
import { layer } from "../../../src/layers/redis/PacerRedis.ts"
import { RedisAway, RedisConnection } from "../../../src/layers/redis/RedisConnection.ts"
import { Pacer } from "../../../src/services/providers/Pacer.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { index } from "../../support/api/ProviderTable.ts"
import { searchRequest } from "../../support/api/requests.ts"
import { assertPace, noting, replicaPacer, type Turn } from "../../support/paces.ts"
import { describeWithRedis, RedisServer } from "../../support/servers/RedisServer.ts"
import { json, serve } from "../../support/servers/UpstreamServer.ts"
import { searchProviders } from "../../support/Time.ts"
import { pacerConformance } from "../conformance/providers/Pacer.conformance.ts"

const server = await RedisServer.make()

describeWithRedis("PacerRedis", () => {
  beforeAll(() => server.start())
  beforeEach(() => server.start())
  afterAll(() => server.stop())

  pacerConformance("PacerRedis", {
    layer: replicaPacer(server.url()),
    elapse: (ms) => Effect.promise(() => sleep(ms)),
    time: "real"
  })

  it.live("a clock set back by an hour does not stop the pace", () =>
    Effect.gen(function* () {
      const { take } = yield* Pacer
      const ahead = (Date.now() + 3_600_000) * 1000
      yield* Effect.promise(() => server.cli("SET", "quarry:pace:{ahead}", String(ahead)))
      assert.strictEqual(yield* take({ name: "ahead", perSecond: 1, withinMs: 1_000 }), 0)
    }).pipe(Effect.provide(replicaPacer(server.url()), { local: true }))
  )

  it.live("while Redis is down each replica keeps the pace by itself", () =>
    Effect.gen(function* () {
      const { take } = yield* Pacer
      const pace = { name: "away", perSecond: 1, withinMs: 60_000 }
      assert.strictEqual(yield* take(pace), 0)
      assert.isAbove((yield* take(pace)) ?? 0, 900)
    }).pipe(
      Effect.provide(Layer.provide(layer, Layer.mock(RedisConnection, { run: () => Effect.fail(new RedisAway()) })), {
        local: true
      })
    )
  )

  it.live(
    "500 searches over 4 replicas never trip a provider's limit of 5 requests a second, and all are answered",
    () =>
      Effect.gen(function* () {
        const arrivals: Array<number> = []
        const upstream = yield* serve((received, response) => {
          arrivals.push(performance.now())
          json({ results: [{ url: "https://a.test/", title: "A" }] })(received, response)
        })
        const turns: Array<Turn> = []
        const file = {
          providers: {
            limited: { type: "marginalia", url: upstream.url, apiKey: "public", requestsPerSecond: 5 },
            own: { type: "index" }
          },
          targets: { alpha_search: [{ provider: "limited" }, { provider: "own" }] }
        }
        const replica = Effect.gen(function* () {
          // Over all replicas 50 arrive in a second.
          const searches = Array.from({ length: 125 }, (_, index) =>
            Effect.delay(searchProviders(searchRequest()), index * 80)
          )
          return yield* Effect.all(searches, { concurrency: "unbounded" })
        }).pipe(
          Effect.provide(
            ProviderFile.layer({ _tag: "file", path: "providers.json" }).pipe(
              Layer.provide([
                UpstreamClient.layer,
                noting(turns, server.url()),
                index,
                ProviderStates.layer,
                StandardSettings.layer,
                FileSystem.layerNoop({ readFileString: () => Effect.succeed(JSON.stringify(file)) })
              ])
            ),
            { local: true }
          )
        )
        const found = (yield* Effect.all([replica, replica, replica, replica], { concurrency: 4 })).flat()
        assert.strictEqual(found.length, 500)
        const { first, last } = assertPace(turns, arrivals, 5)
        const limited = found.filter(({ provider }) => provider === "limited").length
        assert.strictEqual(limited, arrivals.length)
        // Between the first turn and the last, because searches that got no turn may end much later.
        const seconds = (last - first) / 1_000
        assert.isAbove(limited, seconds * 3, "the limit is used and not only kept")
      }).pipe(Effect.orDie)
  )
})
