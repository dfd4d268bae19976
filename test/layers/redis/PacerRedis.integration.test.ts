import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, beforeEach, it } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import * as ProviderFile from "../../../src/layers/providers/ProviderFile.ts"
import { UpstreamClient } from "../../../src/layers/providers/UpstreamClient.ts"
import { layer } from "../../../src/layers/redis/PacerRedis.ts"
import { RedisAway, RedisConnection } from "../../../src/layers/redis/RedisConnection.ts"
import { Pacer } from "../../../src/services/providers/Pacer.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import { index } from "../../support/api/ProviderTable.ts"
import { searchRequest } from "../../support/api/requests.ts"
import { describeWithRedis, RedisServer } from "../../support/servers/RedisServer.ts"
import { json, serve } from "../../support/servers/UpstreamServer.ts"
import { searchProviders } from "../../support/Time.ts"
import { pacerConformance } from "../conformance/providers/Pacer.conformance.ts"

const server = await RedisServer.make()

/** A busy machine may keep Redis from answering, and then the replica would keep the pace by itself. */
const replicaPacer = () => Layer.provide(layer, RedisConnection.layer({ url: server.url(), answerMs: 60_000 }))

/** A turn begins between the two: Redis named it while it was waited for. */
interface Turn {
  readonly earliest: number
  readonly latest: number
}

const noting = (turns: Array<Turn>) =>
  Layer.effect(
    Pacer,
    Effect.map(Pacer, ({ take }) =>
      Pacer.of({
        take: (pace) =>
          Effect.suspend(() => {
            const askedAt = performance.now()
            return Effect.tap(take(pace), (waitMs) =>
              Effect.sync(() => {
                if (waitMs !== undefined) turns.push({ earliest: askedAt + waitMs, latest: performance.now() + waitMs })
              })
            )
          })
      })
    )
  ).pipe(Layer.provide(replicaPacer()))

describeWithRedis("PacerRedis", () => {
  beforeAll(() => server.start())
  beforeEach(() => server.start())
  afterAll(() => server.stop())

  pacerConformance("PacerRedis", {
    layer: replicaPacer(),
    elapse: (ms) => Effect.promise(() => sleep(ms)),
    time: "real"
  })

  it.live("a clock set back by an hour does not stop the pace", () =>
    Effect.gen(function* () {
      const { take } = yield* Pacer
      const ahead = (Date.now() + 3_600_000) * 1000
      yield* Effect.promise(() => server.cli("SET", "quarry:pace:{ahead}", String(ahead)))
      assert.strictEqual(yield* take({ name: "ahead", perSecond: 1, withinMs: 1_000 }), 0)
    }).pipe(Effect.provide(replicaPacer(), { local: true }))
  )

  it.live("while Redis is away each replica keeps the pace by itself", () =>
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
                noting(turns),
                index,
                ProviderStates.layer,
                FileSystem.layerNoop({ readFileString: () => Effect.succeed(JSON.stringify(file)) })
              ])
            ),
            { local: true }
          )
        )
        const found = (yield* Effect.all([replica, replica, replica, replica], { concurrency: 4 })).flat()
        assert.strictEqual(found.length, 500)
        // By turns, because a busy machine sends a request late and the next one not.
        const [earliest, latest] = [turns.map((turn) => turn.earliest), turns.map((turn) => turn.latest)]
        for (const times of [earliest, latest]) times.sort((a, b) => a - b)
        for (const [n, sixth] of latest.slice(5).entries()) assert.isAtLeast(sixth - (earliest[n] ?? 0), 1_000)
        const timerMs = 2
        for (const [n, at] of arrivals.entries()) assert.isAtMost((earliest[n] ?? 0) - at, timerMs, "before its turn")
        const limited = found.filter(({ provider }) => provider === "limited").length
        assert.strictEqual(limited, arrivals.length)
        // Between the first turn and the last, because searches that got no turn may end much later.
        const seconds = ((latest.at(-1) ?? 0) - (earliest[0] ?? 0)) / 1_000
        assert.isAbove(limited, seconds * 3, "the limit is used and not only kept")
      }).pipe(Effect.orDie)
  )
})
