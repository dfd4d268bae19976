import { assert, it } from "@effect/vitest"
import { type Context, Effect, Layer, Result } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { boundsOf } from "../../../../src/domain/accounts/Principal.ts"
import { boundsIdOfMember, budgetOfApp } from "../../../../src/domain/credits/Budget.ts"
import { writeBounds } from "../../../../src/layers/sql/keys/KeyRows.ts"
import * as PostgresSql from "../../../../src/layers/sql/store/Postgres.ts"
import type { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import { KeyStore } from "../../../../src/services/keys/KeyStore.ts"
import { makeAccount, makeRecords } from "../../../support/api/searches.ts"
import { freshDatabase } from "../../../support/stores/Database.ts"
import { describeWithPostgres } from "../../../support/stores/Postgres.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"

const replicaCount = 4
const searches = Number(process.env.QUARRY_TEST_SEARCHES ?? 1_000)

type Services = Accounts | Ids | KeyStore | Ledger | SqlClient.SqlClient
type Replica = Context.Context<Services>

const monthly = (credits: number) => ({ credits, period: "month" }) as const

/** Replicas, each with caches and a pool of its own, on one new database. */
const replicas = Effect.gen(function* () {
  const { url } = yield* freshDatabase
  const build = Layer.build(Layer.fresh(SqlStorage.layer(PostgresSql.layer({ url, poolSize: 4 }))))
  const all: Array<Replica> = []
  for (let n = 0; n < replicaCount; n++) all.push(yield* build)
  const on =
    (index: number) =>
    <A, E>(effect: Effect.Effect<A, E, Services>): Effect.Effect<A, E> => {
      const replica = all[index % replicaCount]
      return replica === undefined ? Effect.die("there are replicas") : Effect.provide(effect, replica)
    }
  return on
})

describeWithPostgres("bounds of keys on four replicas", () => {
  it.effect(`R50: a budget of 100 and ${searches} parallel searches over 4 replicas: exactly 100 are charged`, () =>
    Effect.gen(function* () {
      const on = yield* replicas
      const account = yield* on(0)(makeAccount({ plan: "growth" }))
      const { key, secret } = yield* on(0)(
        Effect.flatMap(KeyStore, (keys) =>
          keys.create(account.id, { label: "CI", mode: "live", bounds: { budget: { credits: 100, period: "life" } } })
        )
      )
      const search = Effect.fnUntraced(function* (index: number) {
        const principal = yield* (yield* KeyStore).authenticate(secret)
        const ledger = yield* Ledger
        const budgets = boundsOf(principal)?.budgets
        const request = { route: "query", key: `${index}`, content: "q" } as const
        // Every seventh has an idempotency key, and every fifth is not charged in the end.
        const reservation =
          index % 7 === 0
            ? yield* Effect.result(ledger.reserveKeyed(principal.account, 1, request, budgets))
            : yield* Effect.result(
                Effect.map(ledger.reserve(principal.account, 1, budgets), (hold) => ({ _tag: "held", hold }) as const)
              )
        if (Result.isFailure(reservation)) {
          assert.include(reservation.failure.message, "this API key's budget")
          return 0
        }
        const it = reservation.success
        const hold = it._tag === "held" ? it.hold : assert.fail(it._tag)
        const records = yield* makeRecords(account, index % 5 === 0 ? 0 : 1)
        return (yield* ledger.settle(hold, records)).charged
      })
      const charge = (from: number, count: number) =>
        Effect.map(
          Effect.forEach(
            Array.from({ length: count }, (_, index) => from + index),
            (index) => on(index)(search(index)),
            { concurrency: "unbounded" }
          ),
          (charges) => charges.reduce((sum, credits) => sum + credits, 0)
        )
      let charged = yield* charge(0, searches)
      assert.isAtMost(charged, 100)
      // What came back after the others were refused is there for the next.
      for (let from = searches * 35; charged < 100; from += 70) charged += yield* charge(from, 70)
      assert.strictEqual(charged, 100)
      yield* on(1)(
        Effect.gen(function* () {
          const ledger = yield* Ledger
          assert.strictEqual((yield* ledger.allowance(account)).used, 100)
          assert.deepStrictEqual(yield* ledger.verify, [])
          const [shown] = yield* (yield* KeyStore).list(account.id)
          assert.deepInclude(shown, { id: key.id, spending: { credits: 100, resetsAt: undefined } })
        })
      )
    })
  )

  it.effect(
    "R67: a member's budget under 50 concurrent searches over 3 replicas is spent exactly, however they search",
    () =>
      Effect.gen(function* () {
        const on = yield* replicas
        const account = yield* on(0)(makeAccount({ plan: "growth" }))
        const memberId = boundsIdOfMember(account.id, "person")
        const makeKey = (bounds = {}) =>
          on(0)(
            Effect.flatMap(KeyStore, (keys) =>
              keys.create(account.id, { label: "CI", mode: "live", createdBy: "person", bounds })
            )
          )
        yield* on(0)(Effect.flatMap(SqlClient.SqlClient, (sql) => writeBounds(sql, memberId, { budget: monthly(20) })))
        const plain = yield* makeKey()
        const bounded = yield* makeKey({ budget: monthly(12) })
        const budgetsOf = Effect.fnUntraced(function* (index: number) {
          // A third are searches of the member's sessions and apps, whose principals have only the member's budget.
          if (index % 3 === 0) return { member: memberId }
          const { secret } = index % 3 === 1 ? plain : bounded
          return (
            boundsOf(yield* (yield* KeyStore).authenticate(secret))?.budgets ?? assert.fail("the key has no budget")
          )
        })
        const search = Effect.fnUntraced(function* (index: number) {
          const ledger = yield* Ledger
          const hold = yield* Effect.result(ledger.reserve(account, 1, yield* budgetsOf(index)))
          if (Result.isFailure(hold)) {
            assert.match(hold.failure.message, /this (?:member|API key)'s budget/)
            return 0
          }
          return (yield* ledger.settle(hold.success, yield* makeRecords(account, index % 5 === 0 ? 0 : 1))).charged
        })
        let charged = 0
        // What is not charged comes back, so the searches after it spend the rest. The first of 50 may get the last credit
        // alone, so it must not be one that is never charged each time.
        for (let from = 0; charged < 20 && from < 500; from += 51) {
          const indexes = Array.from({ length: 50 }, (_, index) => from + index)
          const charges = yield* Effect.forEach(indexes, (index) => on(index % 3)(search(index)), {
            concurrency: "unbounded"
          })
          charged += charges.reduce((sum, credits) => sum + credits, 0)
          assert.isAtMost(charged, 20)
        }
        assert.strictEqual(charged, 20)
        yield* on(1)(
          Effect.gen(function* () {
            const ledger = yield* Ledger
            const sql = yield* SqlClient.SqlClient
            assert.strictEqual((yield* ledger.allowance(account)).used, 20)
            assert.deepStrictEqual(yield* ledger.verify, [])
            assert.deepStrictEqual(yield* sql`select spent::int from key_spending where origin_id = ${memberId}`, [
              { spent: 20 }
            ])
            const shown = yield* (yield* KeyStore).list(account.id)
            assert.isAtMost(shown.find(({ id }) => id === bounded.key.id)?.spending?.credits ?? 99, 12)
            yield* sql`update key_bounds set budget_credits = 100 where origin_id = ${memberId}`
            const hold = yield* ledger.reserve(account, 2, { own: "none", member: memberId })
            yield* ledger.settle(hold, [])
            const again = yield* sql`select spent::int from key_spending where origin_id = ${memberId}`
            assert.deepStrictEqual(again, [{ spent: 20 }])
          })
        )
      })
  )

  it.effect("R50: verify finds a budget of which less is spent than is held, or more than was logged", () =>
    Effect.gen(function* () {
      // Keys have the time of the clock, and the log has the database's.
      yield* TestClock.setTime(Date.now())
      const { url } = yield* freshDatabase
      const database = PostgresSql.layer({ url, poolSize: 4 })
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const ledger = yield* Ledger
        const account = yield* makeAccount({ plan: "growth" })
        const created = yield* (yield* KeyStore).create(account.id, {
          label: "CI",
          mode: "live",
          bounds: { budget: { credits: 100, period: "month" } }
        })
        const keyId = created.key.id
        const records = (count: number) =>
          Effect.map(makeRecords(account, count), (all) => all.map((record) => ({ ...record, keyId })))
        const hold = yield* ledger.reserve(account, 5, { own: keyId })
        yield* ledger.settle(hold, yield* records(3))
        yield* ledger.reserve(account, 2, { own: keyId })
        assert.deepStrictEqual(yield* ledger.verify, [])
        const problem = { accountId: account.id, what: "credits spent of a key's budget" as const }
        yield* sql`update key_spending set spent = 6`
        assert.deepStrictEqual(yield* ledger.verify, [{ ...problem, expected: 5, found: 6 }])
        yield* sql`update key_spending set spent = 1`
        assert.deepStrictEqual(yield* ledger.verify, [{ ...problem, expected: 2, found: 1 }])
        // The key may have had its budget for the last of these searches alone.
        yield* sql`update key_spending set spent = 2`
        assert.deepStrictEqual(yield* ledger.verify, [])
      }).pipe(Effect.provide(Layer.fresh(Layer.provideMerge(SqlStorage.layer(database), database))))
    })
  )

  it.effect("verify finds an app's budget with less spent than held, and accepts a budget that adds up", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.now())
      const { url } = yield* freshDatabase
      const database = PostgresSql.layer({ url, poolSize: 4 })
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const ledger = yield* Ledger
        const account = yield* makeAccount({ plan: "growth" })
        const budgetId = budgetOfApp(account.id, "https://app.example:8443/client.json")
        yield* sql`
          insert into key_bounds (origin_id, budget_credits, budget_period) values (${budgetId}, 5, 'day')`
        const hold = yield* ledger.reserve(account, 3, { own: budgetId })
        yield* ledger.settle(hold, yield* makeRecords(account, 3))
        yield* ledger.reserve(account, 2, { own: budgetId })
        const error = yield* Effect.flip(ledger.reserve(account, 1, { own: budgetId }))
        assert.include(error.message, "this app's budget (5 credits each UTC day) has 0 left")
        assert.deepInclude(error, { budget: { period: "day", holder: "app" } })
        assert.deepStrictEqual(yield* ledger.verify, [])
        yield* sql`update key_spending set spent = 1`
        const problem = { accountId: account.id, what: "credits spent of a key's budget" as const }
        assert.deepStrictEqual(yield* ledger.verify, [{ ...problem, expected: 2, found: 1 }])
      }).pipe(Effect.provide(Layer.fresh(Layer.provideMerge(SqlStorage.layer(database), database))))
    })
  )

  it.effect(
    "R50, R51: a change, a rotation and a revocation on one replica count on the others within 10 seconds",
    () =>
      Effect.gen(function* () {
        const on = yield* replicas
        const account = yield* on(0)(makeAccount({ plan: "growth" }))
        const manage = <A, E>(use: (keys: KeyStore["Service"]) => Effect.Effect<A, E>) =>
          on(0)(Effect.flatMap(KeyStore, use))
        const first = yield* manage((keys) => keys.create(account.id, { label: "CI", mode: "live" }))
        const boundsElsewhere = (secret: typeof first.secret) =>
          Effect.forEach([1, 2, 3], (index) =>
            on(index)(
              Effect.flatMap(KeyStore, (keys) =>
                Effect.match(keys.authenticate(secret), {
                  onSuccess: (it) => boundsOf(it)?.targets?.join() ?? "all",
                  onFailure: () => "none"
                })
              )
            )
          )
        const assertElsewhere = Effect.fnUntraced(function* (secret: typeof first.secret, expected: string) {
          yield* TestClock.adjust("10 seconds")
          assert.deepStrictEqual(yield* boundsElsewhere(secret), [expected, expected, expected])
        })
        yield* assertElsewhere(first.secret, "all")
        yield* manage((keys) => keys.bind(first.key.id, { targets: ["beta_search"] }))
        yield* assertElsewhere(first.secret, "beta_search")
        const second = yield* manage((keys) => keys.rotate(first.key.id, 15))
        yield* assertElsewhere(second.secret, "beta_search")
        assert.deepStrictEqual(new Set(yield* boundsElsewhere(first.secret)), new Set(["beta_search"]))
        // The grace ends on time, although the replicas have just read the key.
        yield* TestClock.adjust("4999 millis")
        assert.deepStrictEqual(new Set(yield* boundsElsewhere(first.secret)), new Set(["beta_search"]))
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(new Set(yield* boundsElsewhere(first.secret)), new Set(["none"]))
        const third = yield* manage((keys) => keys.rotate(second.key.id, 3_600))
        yield* manage((keys) => keys.revoke(third.key.id))
        yield* assertElsewhere(second.secret, "none")
        yield* assertElsewhere(third.secret, "none")
      })
  )
})
