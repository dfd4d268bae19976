import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Account } from "../../../../src/domain/accounts/Account.ts"
import * as Pglite from "../../../../src/layers/sql/store/Pglite.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { type Heartbeat, ReplicaId, Replicas } from "../../../../src/services/operations/Replicas.ts"
import { discrepanciesOf, makeAccount } from "../../../support/api/searches.ts"
import * as Postgres from "../../../support/stores/Postgres.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"

/** The replica whose ledger this is. */
const own = "rep_own"

const beat = (id: string) =>
  Effect.flatMap(Replicas, (replicas) =>
    replicas.beat({
      id,
      host: "a.example",
      address: undefined,
      version: "0.1.0",
      commit: undefined,
      startedAt: 0,
      now: Date.now(),
      vitals: { redis: "off", pool: null, providers: [] }
    } satisfies Heartbeat)
  )

/** Makes every heartbeat so much older, which is how time passes for replicas. */
const pass = (seconds: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`update replicas set seen_at = seen_at - ${seconds}::integer * interval '1 second'`
  )

const sweep = Effect.flatMap(Ledger, (ledger) => ledger.sweep)

const usedOf = (account: Account) =>
  Effect.flatMap(Ledger, (ledger) => Effect.map(ledger.allowance(account), ({ used }) => used))

/** A hold of this replica and one of another replica, which both report. */
const start = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`delete from replicas`
  const account = yield* makeAccount({ plan: "growth" })
  yield* beat(own)
  yield* beat("rep_other")
  yield* (yield* Ledger).reserve(account, 2)
  return account
})

const suite = <E>(kind: string, database: Layer.Layer<SqlClient.SqlClient, E>) => {
  const services = SqlStorage.layer(database).pipe(Layer.provide(Layer.succeed(ReplicaId, own)))

  layer(services, { timeout: "60 seconds", excludeTestServices: true })(`${kind}: the holds of a replica`, (it) => {
    it.effect("R29: come back once it has missed 20 seconds of another replica's heartbeats", () =>
      Effect.gen(function* () {
        const account = yield* start
        const swept = []
        for (let beats = 0; beats < 5; beats++) {
          yield* pass(5)
          yield* beat("rep_other")
          swept.push(yield* sweep)
        }
        assert.deepStrictEqual(swept, [0, 0, 0, 1, 0])
        assert.strictEqual(yield* usedOf(account), 0)
        assert.deepStrictEqual(yield* discrepanciesOf(account), [])
      })
    )

    it.effect("R29: stay while it reports, also where its reports come late", () =>
      Effect.gen(function* () {
        const account = yield* start
        for (let seconds = 5; seconds <= 60; seconds += 5) {
          yield* pass(5)
          yield* beat("rep_other")
          if (seconds % 15 === 0) yield* beat(own)
          assert.strictEqual(yield* sweep, 0)
        }
        assert.strictEqual(yield* usedOf(account), 2)
      })
    )

    it.effect("R29: stay while the database takes no heartbeats, however long, and while nobody else reports", () =>
      Effect.gen(function* () {
        const account = yield* start
        for (let pauses = 0; pauses < 3; pauses++) {
          yield* pass(3600)
          yield* beat("rep_other")
          assert.strictEqual(yield* sweep, 0)
          yield* beat(own)
        }
        yield* pass(3600)
        yield* beat(own)
        yield* pass(3600)
        yield* beat(own)
        assert.strictEqual(yield* sweep, 0)
        assert.strictEqual(yield* usedOf(account), 2)
      })
    )

    it.effect("stay with a replica whose first heartbeat is not recorded yet, until their lease ends", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const account = yield* start
        yield* sql`delete from replicas where id = ${own}`
        for (let beats = 0; beats < 6; beats++) {
          yield* pass(5)
          yield* beat("rep_other")
        }
        assert.strictEqual(yield* sweep, 0)
        assert.strictEqual(yield* usedOf(account), 2)
      })
    )

    it.effect("a silent replica can be forgotten, a reporting replica cannot", () =>
      Effect.gen(function* () {
        yield* start
        yield* pass(21)
        yield* beat("rep_other")
        const replicas = yield* Replicas
        assert.strictEqual(yield* replicas.forget("rep_other"), "running")
        assert.strictEqual(yield* replicas.forget(own), "forgotten")
        assert.strictEqual(yield* replicas.forget(own), "unknown")
        assert.deepStrictEqual(
          (yield* replicas.all).map(({ id }) => id),
          ["rep_other"]
        )
      })
    )
  })
}

suite("embedded", Pglite.layer({ dataDir: undefined }))

Postgres.describeWithPostgres("Postgres", () => suite("postgres", Postgres.layer))
