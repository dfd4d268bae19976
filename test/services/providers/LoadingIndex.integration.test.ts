import { assert, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Fiber, Latch, Layer, Schedule, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as ResultCacheMemory from "../../../src/layers/memory/ResultCacheMemory.ts"
import { type } from "../../../src/layers/providers/adapters/Index.ts"
import * as DocumentIndexSql from "../../../src/layers/sql/index/DocumentIndexSql.ts"
import * as Migrations from "../../../src/layers/sql/Migrations.ts"
import { DocumentIndex } from "../../../src/services/index/DocumentIndex.ts"
import type { Provider, ProviderEntry } from "../../../src/services/providers/Provider.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import { Providers } from "../../../src/services/providers/Providers.ts"
import { ResultCache } from "../../../src/services/search/ResultCache.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { searchRequest } from "../../support/api/requests.ts"
import { describeWithPostgres, layer as postgres } from "../../support/stores/Postgres.ts"
import { searchCache, searchProviders } from "../../support/Time.ts"

const other: Provider = { name: "other", search: () => Effect.succeed([]) }

const providers = Layer.unwrap(
  Effect.map(type.make("own", {}), (engines) => {
    const own = engines(undefined)
    const merged: ProviderEntry = { fuse: [own, other], need: 2, waitMs: 1_000 }
    const rest = { gamma_search: [], delta_search: [], epsilon_search: [], zeta_search: [] }
    return Providers.layer({ alpha_search: [own], beta_search: [merged], ...rest })
  })
)

/** Each replica has services and a cache of its own. Only the database is shared. */
const start = Effect.flatMap(Effect.scope, (scope) => {
  const replica = providers.pipe(
    Layer.provide([ProviderStates.layer, StandardSettings.layer]),
    Layer.provideMerge(DocumentIndexSql.layer),
    Layer.merge(ResultCacheMemory.layer({ ttl: Duration.minutes(1), capacity: 100 }))
  )
  return Layer.buildWithMemoMap(replica, Layer.makeMemoMapUnsafe(), scope)
})

const targets = ["alpha_search", "beta_search"] as const

/** Whether the search at each target, alone and merged, came from the cache. */
const cached = (query: string) =>
  Effect.forEach(targets, (target) => {
    const request = searchRequest({ query, target })
    const search = Effect.flatMap(ResultCache, (cache) => searchCache(cache, request, searchProviders(request)))
    return Effect.map(search, (answer) => answer.cached)
  })

const page = (title: string) => ({ url: `https://d/${title}`, title, description: "" })

const [fromCache, searched] = [
  [true, true],
  [false, false]
]

describeWithPostgres("an index that is loading", () => {
  describe("on two replicas", () => {
    it.effect("no replica caches its answers before the load ends, and those from before the load stay", () =>
      Effect.gen(function* () {
        const replicas = [yield* start, yield* start]
        const onEach = (query: string) =>
          Effect.forEach(replicas, (services) => Effect.provide(cached(query), services))
        const [first] = replicas
        const index = Context.get(first ?? assert.fail("no replica"), DocumentIndex)
        assert.deepStrictEqual(yield* onEach("before"), [searched, searched])
        const end = Latch.makeUnsafe(false)
        const documents = Stream.concat(
          Stream.succeed(page("needle")),
          Stream.fromEffect(Effect.as(end.await, page("last")))
        )
        const loading = yield* Effect.forkChild(index.load(documents, { target: undefined, replace: false }))
        yield* Effect.repeat(index.isLoading, { until: (it) => it, schedule: Schedule.spaced("10 millis") }).pipe(
          TestClock.withLive
        )
        assert.deepStrictEqual(yield* onEach("needle"), [searched, searched])
        assert.deepStrictEqual(yield* onEach("needle"), [searched, searched])
        assert.deepStrictEqual(yield* onEach("before"), [fromCache, fromCache])
        yield* end.open
        yield* Fiber.join(loading)
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* onEach("needle"), [searched, searched])
        assert.deepStrictEqual(yield* onEach("needle"), [fromCache, fromCache])
      }).pipe(
        Effect.scoped,
        Effect.provide(Layer.effectDiscard(Migrations.run).pipe(Layer.provideMerge(postgres), Layer.orDie))
      )
    )
  })
})
