import { assert, it } from "@effect/vitest"
import { Duration, Effect, Layer, Result } from "effect"
import { SqlClient } from "effect/sql"
import { parseBulk } from "../../../src/domain/search/BulkRequest.ts"
import * as ResultCacheMemory from "../../../src/layers/memory/ResultCacheMemory.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { Bulk } from "../../../src/services/search/Bulk.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { aCaller, found, providing } from "../../support/api/Services.ts"
import * as Postgres from "../../support/stores/Postgres.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"

/** Batches over Postgres and a provider that takes 100 ms, without a cache. */
const layer = Bulk.layer.pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      SqlStorage.layer(Postgres.layer),
      StandardSettings.layer,
      ResultCacheMemory.layer({ ttl: Duration.zero, capacity: 0 }),
      providing(() => Effect.as(Effect.sleep("100 millis"), found(10)))
    )
  )
)

const batch = (name: string, rows: number) =>
  Result.getOrThrow(parseBulk({ queries: Array.from({ length: rows }, (_, i) => `${name} ${i}`) }))

Postgres.describeWithPostgres("Bulk on Postgres", () => {
  it.live("100 batches of 50 rows at once: none is lost and none is charged twice", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "custom", quota: 4_000, concurrency: 20 })
      const ledger = yield* Ledger
      yield* ledger.grant(caller.account.id, 1_000, "test")
      const bulk = yield* Bulk
      const served = yield* Effect.forEach(
        Array.from({ length: 100 }, (_, n) => n),
        (n) => bulk.run(caller.principal, batch(`batch ${n}`, 50)),
        { concurrency: "unbounded" }
      )
      assert.isTrue(served.every(({ body, receipt }) => receipt.creditsUsed === 50 && body.succeeded === 50))
      const sql = yield* SqlClient.SqlClient
      const [log] = yield* sql<{ readonly rows: bigint; readonly credits: bigint; readonly batches: bigint }>`
        select count(*) as rows, sum(credits) as credits, count(distinct batch_id) as batches from queries`
      assert.deepStrictEqual(log, { rows: 5_000n, credits: 5_000n, batches: 100n })
      const { balance, used } = yield* ledger.allowance(caller.account)
      assert.deepStrictEqual({ balance, used }, { balance: 0, used: 4_000 })
      assert.deepStrictEqual(yield* ledger.verify, [])
      const refused = yield* Effect.flip(bulk.run(caller.principal, batch("over", 1)))
      assert.strictEqual(refused._tag, "quota_exceeded")
    }).pipe(Effect.provide(layer))
  )
})
