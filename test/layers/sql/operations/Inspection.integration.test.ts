import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { problemsOf } from "../../../../src/domain/operations/Status.ts"
import * as DocumentIndexSql from "../../../../src/layers/sql/index/DocumentIndexSql.ts"
import * as Migrations from "../../../../src/layers/sql/Migrations.ts"
import * as DatabaseInspectionSql from "../../../../src/layers/sql/operations/DatabaseInspectionSql.ts"
import * as Pglite from "../../../../src/layers/sql/store/Pglite.ts"
import * as PostgresLayer from "../../../../src/layers/sql/store/Postgres.ts"
import { Holds } from "../../../../src/services/credits/Holds.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { DocumentIndex } from "../../../../src/services/index/DocumentIndex.ts"
import { DatabaseInspection } from "../../../../src/services/operations/DatabaseInspection.ts"
import { Overview } from "../../../../src/services/operations/Overview.ts"
import { RedisInspection } from "../../../../src/services/operations/RedisInspection.ts"
import { forgetAfterMs, type Heartbeat, maxReplicas, Replicas } from "../../../../src/services/operations/Replicas.ts"
import { makeAccount } from "../../../support/api/searches.ts"
import * as Postgres from "../../../support/stores/Postgres.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"

type Kind = "embedded" | "postgres"

const heartbeat = (id: string): Heartbeat => ({
  id,
  host: "a.example",
  address: undefined,
  commit: undefined,
  version: "0.1.0",
  startedAt: 0,
  now: Date.now(),
  vitals: {
    redis: "off",
    pool: null,
    providers: [{ provider: "own", engine: null, phase: "closed", lastSuccessAt: null, lastRefusal: null, p95Ms: null }]
  }
})

const ids = Effect.flatMap(Replicas, ({ all }) => Effect.map(all, (replicas) => replicas.map(({ id }) => id)))

const suite = <E>(kind: Kind, database: Layer.Layer<SqlClient.SqlClient, E>) => {
  const inspection = Overview.layer("0.1.0").pipe(
    Layer.provideMerge([DatabaseInspectionSql.layer(kind), RedisInspection.layerOff, DocumentIndexSql.layer]),
    Layer.provideMerge(SqlStorage.layer(database))
  )

  layer(inspection, { timeout: "60 seconds", excludeTestServices: true })(kind, (it) => {
    it.effect("says that the index is loading, until the load ends", () =>
      Effect.gen(function* () {
        const overview = yield* Overview
        const index = yield* DocumentIndex
        const loading = Effect.map(overview.look, (status) => status.index)
        assert.deepStrictEqual(yield* index.whileLoading(loading), { loading: true })
        assert.deepStrictEqual(yield* loading, { loading: false })
      })
    )

    it.effect("a hold is overdue a minute after its lease, and only then counts as a problem", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const holds = yield* Holds
        const account = yield* makeAccount({ plan: "growth" })
        const overdue = () => holds.list({ accountId: account.id, overdueOnly: true, limit: 10 })
        const { id } = yield* (yield* Ledger).reserve(account, 1)
        yield* sql`update holds set expires_at = clock_timestamp() - interval '50 seconds' where id = ${id}`
        assert.deepStrictEqual(yield* overdue(), [])
        yield* sql`update holds set expires_at = clock_timestamp() - interval '61 seconds' where id = ${id}`
        assert.deepStrictEqual(
          (yield* overdue()).map((hold) => [hold.id, hold.isOverdue]),
          [[id, true]]
        )
        assert.deepStrictEqual(yield* holds.count, { open: 1, overdue: 1 })
        assert.match(problemsOf(yield* (yield* Overview).look).join("\n"), /1 holds are overdue/)
        yield* (yield* Ledger).sweep
      })
    )

    it.effect("a replica that crashed is seen silent for an hour, and then forgotten by the others", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const replicas = yield* Replicas
        const silence = (ms: number) =>
          sql`update replicas set seen_at = clock_timestamp() - ${ms}::bigint * interval '1 millisecond'
            where id = 'rep_crashed'`
        yield* replicas.beat(heartbeat("rep_crashed"))
        yield* silence(forgetAfterMs - 60_000)
        yield* replicas.beat(heartbeat("rep_well"))
        const seen = yield* (yield* Overview).look
        const crashed = seen.replicas?.find(({ id }) => id === "rep_crashed")
        assert.isTrue(crashed?.silent)
        assert.isAtLeast(crashed?.silent_seconds ?? 0, 3540)
        assert.match(problemsOf(seen).join("\n"), /rep_crashed at a\.example has been silent/)
        assert.deepInclude(seen.providers, {
          provider: "own",
          engine: null,
          replicas: { closed: 1, open: 0, half_open: 0 },
          last_success_at: null,
          last_refusal: null,
          p95_ms: null
        })
        yield* silence(forgetAfterMs + 1_000)
        yield* replicas.beat(heartbeat("rep_well"))
        assert.deepStrictEqual(yield* ids, ["rep_well"])
      })
    )

    it.effect("processes that crash at each start do not fill the table", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`
          insert into replicas (id, host, version, started_at, seen_at, skew_ms, vitals)
          select 'rep_' || n, '', '', now(), now() - interval '1 minute', 0, '{}' from generate_series(1, ${maxReplicas + 50}::int) n`
        yield* (yield* Replicas).beat(heartbeat("rep_last"))
        const found = yield* ids
        assert.strictEqual(found.length, maxReplicas)
        assert.include(found, "rep_last")
        const foreign = (yield* (yield* Replicas).all).find(({ id }) => /^rep_\d+$/.test(id))
        assert.deepStrictEqual([foreign?.host, foreign?.vitals], ["", undefined])
        yield* sql`delete from replicas`
      })
    )

    it.effect("the database is described, with the migrations that this version lacks or has not run", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { look } = yield* DatabaseInspection
        const { database, migrations } = yield* look
        assert.deepInclude(database, { kind, reachable: true, reason: null, takes_writes: true })
        assert.match(database.version ?? "", /^\d+\.\d+/)
        assert.isAbove(database.size_bytes ?? 0, 1_000_000)
        assert.deepStrictEqual([migrations?.pending, migrations?.unknown], [[], []])
        const applied = migrations?.applied ?? []
        const last = applied.at(-1) ?? ""
        yield* sql`
          update quarry_migrations set migration_id = 9999, name = 'newer' where migration_id = ${Number(last.slice(0, 4))}`
        assert.deepStrictEqual((yield* look).migrations, {
          applied: [...applied.slice(0, -1), "9999_newer"],
          pending: [last],
          unknown: ["9999_newer"]
        })
        yield* sql`
          update quarry_migrations set migration_id = ${Number(last.slice(0, 4))}, name = ${last.slice(5)}
          where migration_id = 9999`
      })
    )
  })

  layer(
    Overview.layer("0.1.0").pipe(
      Layer.provide([DatabaseInspectionSql.layer(kind), RedisInspection.layerOff, DocumentIndexSql.layer]),
      Layer.provide(SqlStorage.replica()),
      Layer.provideMerge(database)
    ),
    { timeout: "60 seconds", excludeTestServices: true }
  )(`${kind}, not migrated`, (it) => {
    it.effect("a look at an empty database says what is pending, and makes nothing", () =>
      Effect.gen(function* () {
        const { holds, index, migrations, replicas } = yield* (yield* Overview).look
        assert.deepStrictEqual([holds, index, replicas, migrations?.applied], [null, null, null, []])
        assert.isAbove(migrations?.pending.length ?? 0, 0)
        assert.deepStrictEqual(yield* Migrations.state, migrations)
      })
    )
  })
}

suite("embedded", Pglite.layer({ dataDir: undefined }))

Postgres.describeWithPostgres("Postgres", () => suite("postgres", Postgres.emptyLayer))

layer(
  Overview.layer("0.1.0").pipe(
    Layer.provide([DatabaseInspectionSql.layer("postgres"), RedisInspection.layerOff, DocumentIndexSql.layer]),
    Layer.provide(SqlStorage.replica()),
    Layer.provide(PostgresLayer.layer({ url: Redacted.make("postgres://u:hunter2@127.0.0.1:1/x"), poolSize: 1 }))
  ),
  { excludeTestServices: true }
)("a database that is down", (it) => {
  it.effect("is an answer of the look, without the password", () =>
    Effect.gen(function* () {
      const seen = yield* (yield* Overview).look
      assert.deepInclude(seen.database, { reachable: false })
      assert.match(problemsOf(seen)[0] ?? "", /^The database cannot be reached: .*127\.0\.0\.1:1/)
      assert.notInclude(JSON.stringify(seen), "hunter2")
    })
  )
})
