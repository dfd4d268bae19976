import { spawn } from "node:child_process"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Random, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Polar from "../../../src/layers/billing/Polar.ts"
import * as PostgresSql from "../../../src/layers/sql/store/Postgres.ts"
import { Billing } from "../../../src/services/billing/Billing.ts"
import { BillingBooks } from "../../../src/services/billing/BillingBooks.ts"
import { Reconciler } from "../../../src/services/billing/Reconciler.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { StoreClock } from "../../../src/services/StoreClock.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { discrepanciesOf, makeAccount } from "../../support/api/searches.ts"
import { accessToken, fakePolar, webhookSecret } from "../../support/polar/FakePolar.ts"
import { optionsOf } from "../../support/polar/Provider.ts"
import { watch } from "../../support/processes/Spawned.ts"
import { freshDatabase } from "../../support/stores/Database.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"

const kills = Number(process.env.QUARRY_KILLS ?? 8)
/** Work on the deliveries of a round takes about this long. */
const workMs = 150

/** A database, the provider's fake, and processes that work on deliveries until they are killed. */
const stage = Effect.gen(function* () {
  const { url } = yield* freshDatabase
  const fake = yield* fakePolar()
  const replica = yield* Layer.build(
    Billing.layer.pipe(
      Layer.provideMerge(Reconciler.layer),
      Layer.provideMerge(SqlStorage.layer(PostgresSql.layer({ url, poolSize: 4 }))),
      Layer.provideMerge(Polar.layer(optionsOf(fake))),
      Layer.provide([StandardSettings.layer, StoreClock.own])
    )
  )
  const { accessToken: _, webhookSecrets: __, ...options } = optionsOf(fake)
  const given = JSON.stringify({ ...options, accessToken, webhookSecret })
  const worker = Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(process.execPath, ["test/support/accounts/billingWorker.ts", Redacted.value(url), given])
      return { child, process: watch(child) }
    }),
    (it) =>
      Effect.andThen(
        Effect.sync(() => it.child.kill("SIGKILL")),
        it.process.ended
      )
  )
  return { fake, replica, worker }
})

/** A person who subscribes, buys two packs, and gets a half of one back: the deliveries are stored, and not worked on. */
const buyEverything = Effect.fnUntraced(function* ({ fake, replica }: Effect.Success<typeof stage>, round: number) {
  const account = yield* Effect.provide(makeAccount({ plan: "custom", quota: 5, packRate: 80 }), replica)
  const billing = Context.get(replica, Billing)
  const books = Context.get(replica, BillingBooks)
  const orders: Array<string> = []
  for (let pack = 0; pack < 2; pack++) {
    const before = new Set(fake.model.orders.keys())
    yield* billing.buyPack(account, 10_000, undefined)
    fake.model.pay([...fake.model.checkouts.keys()].at(-1) ?? "")
    orders.push(...[...fake.model.orders.keys()].filter((id) => !before.has(id)))
  }
  fake.model.refund(orders[0] ?? "", 400)
  for (const [n, id] of [...orders, ...orders].entries()) {
    const object = { kind: "order" as const, id }
    yield* books.store({ deliveryId: `${round}-${n}`, kind: "order.paid", object, attempts: 0 })
  }
  return account
})

describeWithPostgres("deliveries that were answered", () => {
  it.live(
    `R37, R38: lose nothing and grant nothing twice, where the process is killed ${kills} times before it has booked them`,
    () =>
      Effect.gen(function* () {
        const on = yield* stage
        const sql = Context.get(on.replica, SqlClient.SqlClient)
        const reconciler = Context.get(on.replica, Reconciler)
        const ledger = Context.get(on.replica, Ledger)
        let cutOff = 0
        for (let round = 0; round < kills; round++) {
          const { child, process } = yield* on.worker
          yield* process.said("ready")
          const account = yield* buyEverything(on, round)
          child.stdin?.write("go\n")
          yield* Effect.sleep(yield* Random.nextIntBetween(0, workMs))
          child.kill("SIGKILL")
          yield* process.ended
          // The lease of the killed process ends.
          const left = yield* sql`
            update billing_inbox set due_at = now() - interval '1 second' where done_at is null returning delivery_id`
          if (left.length > 0) cutOff++
          yield* reconciler.drainInbox
          assert.deepInclude(yield* ledger.allowance(account), { balance: 15_000 }, `round ${round}`)
          assert.deepStrictEqual(yield* Effect.provide(discrepanciesOf(account), on.replica), [])
        }
        yield* Effect.logInfo(`${cutOff} of ${kills} kills came before the books.`)
        assert.isAbove(cutOff, 0)
        const entries = yield* sql<{ readonly kind: string; readonly count: number }>`
          select kind, count(*)::int as count from ledger_entries group by 1 order by 1`
        assert.deepStrictEqual(
          entries.map(({ count, kind }) => [kind, count]),
          [
            ["pack", 2 * kills],
            ["refund", kills]
          ]
        )
      }).pipe(Effect.scoped),
    1_200_000
  )
})
