import { assert, it, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import * as PostgresSql from "../../../src/layers/sql/store/Postgres.ts"
import { Accounts } from "../../../src/services/accounts/Accounts.ts"
import { Billing } from "../../../src/services/billing/Billing.ts"
import type { BillingBooks } from "../../../src/services/billing/BillingBooks.ts"
import { Reconciler } from "../../../src/services/billing/Reconciler.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import * as PaymentProviderMemory from "../../../src/testing/PaymentProviderMemory.ts"
import { ProviderLevers } from "../../../src/testing/PaymentProviderMemory.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { runSequence, Sequence, withProvider } from "../../support/accounts/BillingModel.ts"
import { discrepanciesOf, makeAccount } from "../../support/api/searches.ts"
import { freshDatabase } from "../../support/stores/Database.ts"
import { describeWithPostgres, layer as postgres } from "../../support/stores/Postgres.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"
import { wholeStackRuns } from "../../support/wholeStackRuns.ts"

/** Two replicas, each with a pool of its own, on one database and with one payment provider. */
const twoReplicas = Effect.gen(function* () {
  const { url } = yield* freshDatabase
  const provider = Layer.succeedContext(yield* Layer.build(PaymentProviderMemory.layer))
  const replica = Billing.layer.pipe(
    Layer.provideMerge(Reconciler.layer),
    Layer.provideMerge(SqlStorage.layer(PostgresSql.layer({ url, poolSize: 4 }))),
    Layer.provideMerge(provider),
    Layer.provide(StandardSettings.layer),
    Layer.fresh
  )
  return [yield* Layer.build(replica), yield* Layer.build(replica)] as const
})

const rounds = 25

describeWithPostgres("Reconciler on Postgres", () => {
  layer(SqlStorage.layer(postgres))("with one replica", (it) => {
    it.effect.prop(
      "I1, I2, R37, R38, R40, R41: after any sequence and one sweep the books say what the provider says",
      { sequence: Sequence },
      ({ sequence }) => withProvider(runSequence(sequence, { verifiesEachStep: false })),
      { timeout: 600_000, arbitrary: { runs: wholeStackRuns } }
    )
  })

  it.live(
    "R38: replicas that get each delivery at the same time grant and take back once",
    () =>
      Effect.gen(function* () {
        const replicas = yield* twoReplicas
        const [one] = replicas
        const both = <A, E>(
          effect: Effect.Effect<A, E, Billing | BillingBooks | Reconciler>
        ): Effect.Effect<ReadonlyArray<A>, E> =>
          Effect.all(
            replicas.map((context) => Effect.provide(effect, context)),
            { concurrency: "unbounded" }
          )
        const { pay, refund, state } = Context.get(one, ProviderLevers)
        const deliverTwice = Effect.gen(function* () {
          const sent = [...state.outbox]
          yield* Effect.forEach(
            sent,
            ({ deliveryId }) =>
              both(Effect.flatMap(Billing, (it) => it.receive({ "webhook-id": deliveryId }, new Uint8Array()))),
            { concurrency: 4 }
          )
          state.outbox = []
          const drained = yield* both(Effect.flatMap(Reconciler, (it) => it.drainInbox))
          const ids = [...state.orders.keys()].slice(-2)
          yield* both(
            Effect.flatMap(Reconciler, (it) => Effect.forEach(ids, it.bringOrder, { concurrency: 4, discard: true }))
          )
          return [sent.length, drained.reduce((sum, count) => sum + count, 0)]
        })
        for (let round = 0; round < rounds; round++) {
          const account = yield* Effect.provide(makeAccount({ plan: "trial" }), one)
          const billing = Context.get(one, Billing)
          const accounts = Context.get(one, Accounts)
          yield* pay((yield* billing.checkout(account, "growth", undefined)).url.split("/").at(-1) ?? "")
          assert.deepStrictEqual(yield* deliverTwice, [2, 2])
          const subscriber = yield* accounts.byId(account.id)
          assert.strictEqual(subscriber.plan, "growth")
          yield* pay((yield* billing.buyPack(subscriber, 10_000, undefined)).url.split("/").at(-1) ?? "")
          const order = [...state.orders.values()].at(-1)
          assert.deepStrictEqual(yield* deliverTwice, [1, 1])
          yield* refund(order?.id ?? "", 200)
          assert.deepStrictEqual(yield* deliverTwice, [1, 1])
          const allowance = yield* Context.get(one, Ledger).allowance(subscriber)
          assert.deepInclude(allowance, { plan: "growth", quota: 75_000, used: 0, balance: 7_500 })
          assert.deepStrictEqual(yield* Effect.provide(discrepanciesOf(subscriber), one), [])
        }
      }).pipe(Effect.scoped),
    120_000
  )
})
