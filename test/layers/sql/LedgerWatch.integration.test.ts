import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Duration, Effect, Layer, Metric } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as LedgerWatch from "../../../src/layers/sql/LedgerWatch.ts"
import * as Pglite from "../../../src/layers/sql/Pglite.ts"
import { newestDiscrepancies } from "../../../src/layers/sql/Verification.ts"
import { Ledger } from "../../../src/services/Ledger.ts"
import { holdsOpen, holdsOverdue, ledgerChecks, ledgerDiscrepancies } from "../../../src/services/Metrics.ts"
import { Backdoor } from "../../support/Backdoor.ts"
import * as Postgres from "../../support/Postgres.ts"
import * as SqlStorage from "../../support/SqlStorage.ts"
import { makeAccount, makeRecords } from "../../support/searches.ts"

const found = Effect.flatMap(SqlClient.SqlClient, newestDiscrepancies)

/** An account with a search that was charged and one that runs. */
const searched = Effect.gen(function* () {
  const account = yield* makeAccount({ plan: "custom", quota: 100 }, 5)
  const ledger = yield* Ledger
  yield* ledger.settle(yield* ledger.reserve(account, 3), yield* makeRecords(account, 2))
  yield* ledger.reserve(account, 4)
  return account
})

const embedded = Pglite.layer({ dataDir: undefined })

const suite = <E>(name: string, database: Layer.Layer<SqlClient.SqlClient, E>) => {
  layer(SqlStorage.layer(database))(name, (it) => {
    it.effect("I2: agrees with books that are right, while searches run", () =>
      Effect.gen(function* () {
        yield* searched
        assert.deepStrictEqual(yield* found, [])
      })
    )

    it.effect("I1, I2: finds what was changed of the quota and what the log has lost", () =>
      Effect.gen(function* () {
        const account = yield* searched
        const backdoor = yield* Backdoor
        yield* backdoor.damage(account.id, "allowance")
        yield* backdoor.damage(account.id, "log")
        assert.sameDeepMembers(
          [...((yield* found) ?? [])],
          [
            { accountId: account.id, what: "credits used of the quota", expected: 6, found: 7 },
            { accountId: account.id, what: "credits in the query log", expected: 2, found: 1 }
          ]
        )
      })
    )
  })
}

describe("LedgerWatch", () => {
  suite("on the embedded database", embedded)

  // On a server the test's clock would run out of each statement's time.
  layer(SqlStorage.layer(embedded))("as it runs", (it) => {
    it.effect("shows in metrics what it finds and how many holds there are, and goes on", () =>
      Effect.gen(function* () {
        const account = yield* searched
        yield* (yield* Backdoor).expireHolds(account.id)
        yield* (yield* Backdoor).damage(account.id, "allowance")
        yield* Layer.build(LedgerWatch.layer)
        const looked = (checks: number) =>
          TestClock.adjust(Duration.minutes(1)).pipe(
            Effect.andThen(Metric.value(ledgerChecks.of("discrepancies"))),
            Effect.repeat({ until: ({ count }) => count >= checks })
          )
        yield* looked(2)
        assert.isAtLeast((yield* Metric.value(ledgerDiscrepancies.of())).value, 1)
        assert.isAtLeast((yield* Metric.value(holdsOpen.of())).value, 1)
        assert.isAtLeast((yield* Metric.value(holdsOverdue.of())).value, 1)
      }).pipe(
        Effect.provideServiceEffect(
          Metric.MetricRegistry,
          Effect.sync(() => new Map())
        )
      )
    )
  })
})

Postgres.describeWithPostgres("LedgerWatch on Postgres", () => {
  suite("on a server", Postgres.layer)

  it.effect("leaves a look to the replica that is looking", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const lock = sql`select pg_advisory_xact_lock(hashtext('quarry_newest_discrepancies'))`
      const looking = yield* Deferred.make<void>()
      const seen = yield* Deferred.make<void>()
      const first = Effect.andThen(lock, Effect.andThen(Deferred.succeed(looking, undefined), Deferred.await(seen)))
      yield* Effect.forkChild(sql.withTransaction(first))
      yield* Deferred.await(looking)
      assert.isUndefined(yield* found)
      yield* Deferred.succeed(seen, undefined)
    }).pipe(Effect.provide(SqlStorage.layer(Postgres.layer)))
  )
})
