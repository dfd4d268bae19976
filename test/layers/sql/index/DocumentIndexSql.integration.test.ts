import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Schedule, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as DocumentIndexSql from "../../../../src/layers/sql/index/DocumentIndexSql.ts"
import * as Migrations from "../../../../src/layers/sql/Migrations.ts"
import { DocumentIndex } from "../../../../src/services/index/DocumentIndex.ts"
import { searchRequest } from "../../../support/api/requests.ts"
import * as EmbeddedDatabase from "../../../support/stores/EmbeddedDatabase.ts"
import { describeWithPostgres, layer as postgres } from "../../../support/stores/Postgres.ts"
import { documentIndexConformance } from "../../conformance/index/DocumentIndex.conformance.ts"

const migrated = Layer.effectDiscard(Migrations.run)

documentIndexConformance("PGlite", DocumentIndexSql.layer.pipe(Layer.provide(EmbeddedDatabase.layer), Layer.orDie))

const search = (fields: Parameters<typeof searchRequest>[0]) =>
  Effect.flatMap(DocumentIndex, (index) =>
    Effect.map(index.search(searchRequest(fields)), ({ rows }) => rows.map(({ url }) => url))
  )

describe("segments", () => {
  it.live("are joined as they become many, and written anew when most of their documents are gone", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const index = yield* DocumentIndex
      const load = (urls: ReadonlyArray<string>, title: string) =>
        index.load(Stream.fromIterable(urls.map((url) => ({ url, title, description: "" }))), {
          target: undefined,
          replace: false
        })
      const urls = Array.from({ length: 60 }, (_, number) => `https://d/${number}`)
      for (const url of urls) yield* load([url], "Word")
      const segments = () => sql<{ readonly documents: number }>`select documents from document_segments`
      assert.isAtMost((yield* segments()).length, 15)
      yield* load(urls, "Other")
      assert.deepStrictEqual(yield* segments(), [{ documents: 60 }])
      assert.deepStrictEqual(yield* search({ query: "word" }), [])
      assert.lengthOf(yield* search({ query: "other", num: 20, page: 3 }), 20)
    }).pipe(Effect.provide(DocumentIndexSql.layer.pipe(Layer.provideMerge(EmbeddedDatabase.layer), Layer.orDie)))
  )
})

describe("the mark of a load", () => {
  it.effect("expires a minute after its process crashed, and is renewed while it lives", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const index = yield* DocumentIndex
      const renewedAgo = (seconds: number) =>
        sql`update document_loads set started_at = now() - make_interval(secs => ${seconds}::integer)`
      const until = (isLoading: boolean) =>
        Effect.repeat(index.isLoading, {
          until: (it) => it === isLoading,
          schedule: Schedule.spaced("10 millis")
        }).pipe(Effect.timeout("10 seconds"), TestClock.withLive)
      const loading = yield* Effect.forkChild(index.whileLoading(Effect.never))
      yield* until(true)
      yield* renewedAgo(58)
      assert.isTrue(yield* index.isLoading)
      yield* renewedAgo(60)
      assert.isFalse(yield* index.isLoading)
      yield* TestClock.adjust("15 seconds")
      yield* until(true)
      yield* Fiber.interrupt(loading)
      assert.isFalse(yield* index.isLoading)
    }).pipe(Effect.provide(DocumentIndexSql.layer.pipe(Layer.provideMerge(EmbeddedDatabase.layer), Layer.orDie)))
  )
})

describeWithPostgres("Postgres", () => {
  documentIndexConformance(
    "Postgres",
    DocumentIndexSql.layer.pipe(Layer.provide(migrated), Layer.provide(postgres), Layer.orDie)
  )

  it.live("a search says that the index is loading if a load began after it had read the postings", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const index = yield* DocumentIndex
      yield* index.load(Stream.make({ url: "https://d/1", title: "Flat", description: "" }), {
        target: undefined,
        replace: false
      })
      const poll = Schedule.spaced("10 millis")
      const [isLocked, isWaiting] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const search = index.search(searchRequest({ query: "flat" }))
      const found = yield* Effect.forkChild(Effect.andThen(Deferred.await(isLocked), search))
      const loading = yield* Effect.forkChild(
        Effect.andThen(Deferred.await(isWaiting), index.whileLoading(Effect.never))
      )
      yield* Effect.gen(function* () {
        // The postings are in other tables, so the search waits only after it has read them.
        yield* sql`lock table indexed_documents in access exclusive mode`
        yield* Deferred.succeed(isLocked, undefined)
        const waiting = sql`select from pg_locks where not granted and relation = 'indexed_documents'::regclass`
        yield* Effect.repeat(waiting, { until: (rows) => rows.length > 0, schedule: poll })
        yield* Deferred.succeed(isWaiting, undefined)
        yield* Effect.repeat(index.isLoading, { until: (it) => it, schedule: poll })
      }).pipe(sql.withTransaction)
      const { isLoading, rows } = yield* Fiber.join(found)
      assert.lengthOf(rows, 1)
      assert.isTrue(isLoading)
      yield* Fiber.interrupt(loading)
    }).pipe(
      Effect.provide(
        DocumentIndexSql.layer.pipe(Layer.provideMerge(migrated), Layer.provideMerge(postgres), Layer.orDie)
      )
    )
  )
})
