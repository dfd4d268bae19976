import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Result } from "effect"
import { parseBulk } from "../../../src/domain/search/BulkRequest.ts"
import * as ProviderFile from "../../../src/layers/providers/ProviderFile.ts"
import { UpstreamClient } from "../../../src/layers/providers/UpstreamClient.ts"
import { QueryLog } from "../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import { Bulk } from "../../../src/services/search/Bulk.ts"
import { Search } from "../../../src/services/search/Search.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { index } from "../../support/api/ProviderTable.ts"
import { aCaller, aRequest, servicesOver } from "../../support/api/Services.ts"
import { assertPace, noting, type Turn } from "../../support/paces.ts"
import { describeWithRedis, RedisServer } from "../../support/servers/RedisServer.ts"
import { json, serve } from "../../support/servers/UpstreamServer.ts"
import * as MemoryStorage from "../../support/stores/MemoryStorage.ts"

const server = await RedisServer.make()

const perSecond = 10
/** Rows of the batch that each replica runs at the same time. */
const sizes = [20, 15, 15]

const batch = (replica: number, rows: number) =>
  Result.getOrThrow(parseBulk({ queries: Array.from({ length: rows }, (_, row) => `row ${row} of ${replica}`) }))

describeWithRedis("batches on three replicas that share Redis", () => {
  beforeAll(() => server.start())
  afterAll(() => server.stop())

  it.live(
    "R77: 50 rows of one account are all answered by 50 calls at the provider's pace, and others have turns",
    () =>
      Effect.gen(function* () {
        const arrivals: Array<number> = []
        const upstream = yield* serve((received, response) => {
          arrivals.push(performance.now())
          json({ results: [{ url: "https://a.test/", title: "A" }] })(received, response)
        })
        const file = JSON.stringify({
          providers: {
            paced: { type: "marginalia", url: upstream.url, apiKey: "public", requestsPerSecond: perSecond }
          },
          targets: { alpha_search: [{ provider: "paced" }] }
        })
        const turns: Array<Turn> = []
        const storage = Layer.succeedContext(yield* Layer.build(MemoryStorage.layer))
        const replica = () => {
          const providers = ProviderFile.layer({ _tag: "file", path: "providers.json" }).pipe(
            Layer.provide([
              UpstreamClient.layer,
              noting(turns, server.url()),
              index,
              ProviderStates.layer,
              StandardSettings.layer,
              FileSystem.layerNoop({ readFileString: () => Effect.succeed(file) })
            ]),
            Layer.orDie
          )
          return Layer.build(Layer.fresh(servicesOver(storage, providers)))
        }
        const replicas = yield* Effect.all(sizes.map(replica))
        const [first] = replicas
        if (first === undefined) return assert.fail("no replica")
        const caller = yield* Effect.provide(aCaller({ plan: "starter" }), first)
        const other = yield* Effect.provide(aCaller({ plan: "starter" }), first)

        const startedAt = performance.now()
        const batches = Effect.forEach(
          replicas,
          (services, n) =>
            Effect.flatMap(Bulk, (bulk) => bulk.run(caller.principal, batch(n, sizes[n] ?? 0))).pipe(
              Effect.provide(services)
            ),
          { concurrency: "unbounded" }
        )
        const single = Effect.gen(function* () {
          yield* Effect.sleep(1_000)
          const sentAt = performance.now()
          const { body } = yield* (yield* Search).run(other.principal, aRequest)
          return { isOk: Result.isSuccess(body), ms: performance.now() - sentAt }
        }).pipe(Effect.provide(first))
        const [served, searched] = yield* Effect.all([batches, single], { concurrency: 2 })
        const tookMs = performance.now() - startedAt

        assert.deepStrictEqual(
          served.map(({ body, receipt }) => [body.succeeded, receipt.creditsUsed]),
          sizes.map((rows) => [rows, rows])
        )
        assert.lengthOf(arrivals, 51)
        assertPace(turns, arrivals, perSecond)
        const { used } = yield* Effect.provide(
          Effect.flatMap(Ledger, (ledger) => ledger.allowance(caller.account)),
          first
        )
        assert.strictEqual(used, 50)
        const log = yield* Effect.provide(
          Effect.flatMap(QueryLog, (queries) => queries.recent(caller.account.id, 100)),
          first
        )
        assert.lengthOf(log, 50)
        // Two accounts share a third of the slots: six intervals, and the one already taken by the replica.
        assert.isTrue(searched.isOk)
        assert.isBelow(searched.ms, tookMs / 2, "another account waits less than the batch")
      }).pipe(Effect.scoped, Effect.orDie)
  )
})
