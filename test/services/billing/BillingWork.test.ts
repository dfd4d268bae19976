import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Metric, Random } from "effect"
import { TestClock } from "effect/testing"
import { Accounts } from "../../../src/services/accounts/Accounts.ts"
import { Billing } from "../../../src/services/billing/Billing.ts"
import { BillingBooks } from "../../../src/services/billing/BillingBooks.ts"
import * as BillingWork from "../../../src/services/billing/BillingWork.ts"
import { Reconciler } from "../../../src/services/billing/Reconciler.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { billingDrift, billingInboxOldest, billingOwed } from "../../../src/services/telemetry/Metrics.ts"
import * as PaymentProviderMemory from "../../../src/testing/PaymentProviderMemory.ts"
import { ProviderLevers } from "../../../src/testing/PaymentProviderMemory.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { discrepanciesOf, makeAccount, makeRecords } from "../../support/api/searches.ts"
import { allowanceOf } from "../../support/stores/allowances.ts"
import * as MemoryStorage from "../../support/stores/MemoryStorage.ts"

const billing = Billing.layer.pipe(
  Layer.provideMerge(Reconciler.layer),
  Layer.provideMerge(PaymentProviderMemory.layer),
  Layer.provideMerge(MemoryStorage.layer),
  Layer.provide(StandardSettings.layer)
)

/** Starts the work in the background, at a time that the test has set: it takes every turn of a time that passes. */
const working = Effect.andThen(TestClock.setTime(Date.parse("2027-03-01T00:00:00Z")), Layer.build(BillingWork.layer))

/** Opens the checkout of a plan and pays. Nothing of it is delivered. */
const pay = Effect.fnUntraced(function* (plan: "starter" | "growth" | "business") {
  const account = yield* makeAccount({ plan: "trial" })
  const { url } = yield* (yield* Billing).checkout(account, plan, undefined)
  yield* (yield* ProviderLevers).pay(url.split("/").at(-1) ?? "")
  return account
})

const deliverAll = Effect.gen(function* () {
  const { state } = yield* ProviderLevers
  for (const { deliveryId } of state.outbox) {
    yield* (yield* Billing).receive({ "webhook-id": deliveryId }, new Uint8Array())
  }
  state.outbox = []
})

const driftOf = (kind: "subscription" | "order") =>
  Effect.map(Metric.value(billingDrift.of(kind)), ({ count }) => count)

const planOf = Effect.fnUntraced(function* (account: { readonly id: string }) {
  return (yield* (yield* Accounts).byId(account.id)).plan
})

describe("BillingWork", () => {
  it.effect("R37: works on a delivery within seconds, and sweeps what was not delivered within 5 minutes", () =>
    Effect.gen(function* () {
      yield* working
      const account = yield* pay("growth")
      yield* deliverAll
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* planOf(account), "growth")
      const before = yield* driftOf("subscription")
      yield* TestClock.adjust("2 minutes")
      const other = yield* pay("business")
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(yield* planOf(other), "business")
      assert.isAtLeast(Number(yield* driftOf("subscription")), Number(before))
    }).pipe(Effect.provide(billing))
  )

  it.effect("R37: shows in metrics how long a delivery waits, and what is owed", () =>
    Effect.gen(function* () {
      yield* working
      const { state } = yield* ProviderLevers
      yield* pay("growth")
      state.isUp = false
      yield* deliverAll
      yield* TestClock.adjust("5 minutes")
      assert.isAtLeast((yield* Metric.value(billingInboxOldest.of())).value, 280)
      assert.strictEqual((yield* Metric.value(billingOwed.of())).value, 0)
      state.isUp = true
      yield* TestClock.adjust("11 minutes")
      assert.strictEqual((yield* Metric.value(billingInboxOldest.of())).value, 0)
    }).pipe(Effect.provide(billing))
  )

  it.effect("R42: removes the customer of a removed account when the provider is back", () =>
    Effect.gen(function* () {
      yield* working
      const { state } = yield* ProviderLevers
      const account = yield* pay("growth")
      yield* deliverAll
      yield* TestClock.adjust("2 seconds")
      state.isUp = false
      yield* (yield* Accounts).remove(account.id)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(
        [...state.subscriptions.values()].map(({ status }) => status),
        ["active"]
      )
      state.isUp = true
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(
        [...state.subscriptions.values()].map(({ status }) => status),
        ["ended"]
      )
    }).pipe(Effect.provide(billing))
  )
})

const dayMs = 86_400_000

describe("a year of a subscription", () => {
  it.effect("R31, R37: renews to the millisecond over 29 February and the 31st, with any subset of deliveries", () =>
    Effect.gen(function* () {
      const begun = DateTime.makeUnsafe("2027-08-31T22:30:15.250Z")
      yield* TestClock.setTime(begun.epochMilliseconds)
      const account = yield* pay("starter")
      yield* deliverAll
      const [ledger, levers, reconciler, books] = [
        yield* Ledger,
        yield* ProviderLevers,
        yield* Reconciler,
        yield* BillingBooks
      ]
      yield* reconciler.drainInbox
      for (let month = 1; month <= 12; month++) {
        const end = DateTime.add(begun, { months: month }).epochMilliseconds
        yield* ledger.settle(yield* ledger.reserve(account, month), yield* makeRecords(account, month))
        yield* TestClock.setTime(end - 1)
        assert.deepInclude(yield* allowanceOf(account), {
          plan: "starter",
          quota: 5_000,
          used: month,
          resetsAt: end
        })
        yield* TestClock.setTime(end)
        const next = DateTime.add(begun, { months: month + 1 }).epochMilliseconds
        const opened = { plan: "starter" as const, quota: 5_000, used: 0, periodStart: end, resetsAt: next }
        assert.deepInclude(yield* allowanceOf(account), opened, `month ${month}`)
        // The provider's news are late by up to a day, or do not come at all.
        yield* TestClock.setTime(end + (yield* Random.nextIntBetween(0, dayMs)))
        yield* levers.advance
        if (yield* Random.nextBoolean) yield* deliverAll
        levers.state.outbox = []
        yield* reconciler.drainInbox
        yield* reconciler.sweep("open")
        assert.deepInclude(yield* allowanceOf(account), opened, `month ${month}, by the provider`)
      }
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
      assert.strictEqual((yield* books.orders(account.id, 100)).length, 13)
    }).pipe(Effect.provide(billing))
  )
})
