import { assert, type Vitest } from "@effect/vitest"
import { Clock, Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { type Account, accountAt } from "../../../../src/domain/accounts/Account.ts"
import { standardPlans } from "../../../../src/domain/credits/Plan.ts"
import { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { Billing } from "../../../../src/services/billing/Billing.ts"
import { BillingBooks } from "../../../../src/services/billing/BillingBooks.ts"
import { Reconciler } from "../../../../src/services/billing/Reconciler.ts"
import type { QueryLog } from "../../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { Ids } from "../../../../src/services/Ids.ts"
import type { StoreClock } from "../../../../src/services/StoreClock.ts"
import { EventBooks } from "../../../../src/services/webhooks/EventBooks.ts"
import * as PaymentProviderMemory from "../../../../src/testing/PaymentProviderMemory.ts"
import { ProviderLevers } from "../../../../src/testing/PaymentProviderMemory.ts"
import * as StandardSettings from "../../../../src/testing/StandardSettings.ts"
import { discrepanciesOf, makeAccount, makeRecords } from "../../../support/api/searches.ts"

type Storage = Accounts | BillingBooks | EventBooks | Ids | Ledger | QueryLog | StoreClock

/** Purchases and the reconciler over a provider of their own, for each test. */
const withBilling = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provide(
    effect,
    Billing.layer.pipe(
      Layer.provideMerge(Reconciler.layer),
      Layer.provideMerge(PaymentProviderMemory.layer),
      Layer.provide(StandardSettings.layer),
      Layer.fresh
    ),
    { local: true }
  )

const at = (iso: string) => TestClock.setTime(Date.parse(iso))

const search = Effect.fnUntraced(function* (account: Account, count: number) {
  const ledger = yield* Ledger
  for (let left = count; left > 0; left -= 50) {
    const batch = Math.min(left, 50)
    yield* ledger.settle(yield* ledger.reserve(account, batch), yield* makeRecords(account, batch))
  }
})

/** Delivers everything that the provider has sent, and works on it. */
const deliver = Effect.gen(function* () {
  const billing = yield* Billing
  const { state } = yield* ProviderLevers
  const all = state.outbox
  for (const { deliveryId } of all) yield* billing.receive({ "webhook-id": deliveryId }, new Uint8Array())
  state.outbox = []
  while ((yield* (yield* Reconciler).drainInbox) > 0);
})

/** Buys a plan and pays. */
const subscribed = Effect.fnUntraced(function* (plan: "starter" | "growth" | "business") {
  const account = yield* makeAccount({ plan: "trial" })
  const levers = yield* ProviderLevers
  const { url } = yield* (yield* Billing).checkout(account, plan, undefined)
  yield* levers.pay(url.split("/").at(-1) ?? "")
  yield* deliver
  const [subscription] = (yield* (yield* BillingBooks).account(account.id))?.subscriptions ?? []
  return { account: yield* (yield* Accounts).byId(account.id), id: subscription?.id ?? "" }
})

const buyPack = Effect.fnUntraced(function* (account: Account) {
  const levers = yield* ProviderLevers
  const { url } = yield* (yield* Billing).buyPack(account, 10_000, undefined)
  yield* levers.pay(url.split("/").at(-1) ?? "")
  const order = [...levers.state.orders.values()].at(-1)
  yield* deliver
  return order?.id ?? ""
})

const allowanceOf = Effect.fnUntraced(function* (account: Account) {
  return yield* (yield* Ledger).allowance(account)
})

/** What payments promise on any storage. */
export const billingConformance = (it: Vitest.MethodsNonLive<Storage>): void => {
  it.effect("R31, R37: a subscription gives the plan its quota in the provider's period, to the second", () =>
    withBilling(
      Effect.gen(function* () {
        yield* at("2027-01-31T10:20:30.500Z")
        const { account } = yield* subscribed("growth")
        assert.deepInclude(account, { plan: "growth", quota: 75_000, concurrency: standardPlans.growth.concurrency })
        assert.deepInclude(yield* allowanceOf(account), {
          plan: "growth",
          quota: 75_000,
          used: 0,
          periodStart: Date.parse("2027-01-31T10:20:30.500Z"),
          resetsAt: Date.parse("2027-02-28T10:20:30.500Z")
        })
        const state = yield* (yield* Billing).state(account)
        assert.deepInclude(state, { open: true, plan: "growth", balance: 0, owed: 0 })
        assert.deepInclude(state.subscription, { status: "active", plan: "growth", cancelAtPeriodEnd: false })
        assert.deepStrictEqual(yield* discrepanciesOf(account), [])
      })
    )
  )

  it.effect("R38: an order grants its pack once, however often it is delivered", () =>
    withBilling(
      Effect.gen(function* () {
        yield* at("2027-03-01T00:00:00Z")
        const { account } = yield* subscribed("growth")
        const orderId = yield* buyPack(account)
        const reconciler = yield* Reconciler
        for (let n = 0; n < 3; n++) yield* reconciler.bringOrder(orderId)
        yield* reconciler.sweep("changed")
        assert.deepInclude(yield* allowanceOf(account), { balance: 10_000 })
        assert.deepStrictEqual(yield* discrepanciesOf(account), [])
      })
    )
  )

  it.effect("R40: a refund takes back what is left, the rest is owed and settled from the next grant", () =>
    withBilling(
      Effect.gen(function* () {
        yield* at("2027-03-01T00:00:00Z")
        const ledger = yield* Ledger
        const { account } = yield* subscribed("growth")
        const orderId = yield* buyPack(account)
        yield* ledger.adjust({ accountId: account.id, credits: -9_000, to: "balance", reason: "spent", by: "test" })
        yield* (yield* ProviderLevers).refund(orderId, 400)
        yield* deliver
        const books = yield* BillingBooks
        assert.deepInclude(yield* books.account(account.id), { balance: 0, owed: 4_000 })
        assert.strictEqual(yield* ledger.grant(account.id, 1_500, "a gift", account.id), 0)
        assert.strictEqual(yield* ledger.grant(account.id, 1_500, "a gift", account.id), 0)
        assert.deepInclude(yield* books.account(account.id), { balance: 0, owed: 2_500 })
        yield* buyPack(account)
        assert.deepInclude(yield* books.account(account.id), { balance: 7_500, owed: 0 })
        assert.deepStrictEqual(yield* discrepanciesOf(account), [])
      })
    )
  )

  it.effect("R39: an upgrade adds its share of the quota, from its order's moment, and the use stays counted", () =>
    withBilling(
      Effect.gen(function* () {
        yield* at("2027-04-01T00:00:00Z")
        const { account } = yield* subscribed("starter")
        yield* search(account, 60)
        yield* at("2027-04-16T00:00:00Z")
        const billing = yield* Billing
        const changed = yield* billing.changePlan(account, "business", undefined)
        assert.deepStrictEqual(changed, {
          plan: "business",
          pendingPlan: undefined,
          effectiveAt: Date.parse("2027-04-16T00:00:00Z")
        })
        assert.deepInclude(yield* allowanceOf(account), { plan: "business", quota: 5_000 + 97_500, used: 60 })
        yield* at("2027-04-20T00:00:00Z")
        yield* deliver
        assert.deepInclude(yield* allowanceOf(account), { plan: "business", quota: 5_000 + 97_500, used: 60 })
        yield* at("2027-05-01T00:00:00Z")
        assert.deepInclude(yield* allowanceOf(account), { plan: "business", quota: 200_000, used: 0 })
        assert.deepStrictEqual(yield* discrepanciesOf(account), [])
      })
    )
  )

  it.effect("R39: a downgrade comes at the period's end, by itself and to the millisecond, and can be called off", () =>
    withBilling(
      Effect.gen(function* () {
        yield* at("2027-01-31T08:00:00Z")
        const { account } = yield* subscribed("growth")
        const billing = yield* Billing
        const end = Date.parse("2027-02-28T08:00:00Z")
        const changed = yield* billing.changePlan(account, "starter", undefined)
        assert.deepStrictEqual(changed, { plan: "growth", pendingPlan: "starter", effectiveAt: end })
        const calledOff = yield* billing.changePlan(account, "growth", undefined)
        assert.deepInclude(calledOff, { plan: "growth", pendingPlan: undefined })
        assert.strictEqual(
          (yield* Effect.flip(billing.changePlan(account, "growth", undefined)))._tag,
          "plan_unchanged"
        )
        yield* billing.changePlan(account, "starter", "period_end")
        const known = yield* (yield* Accounts).byId(account.id)
        yield* TestClock.setTime(end - 1)
        assert.deepInclude(yield* allowanceOf(account), { plan: "growth", quota: 75_000 })
        assert.strictEqual(accountAt(known, end - 1).concurrency, standardPlans.growth.concurrency)
        yield* TestClock.setTime(end)
        assert.strictEqual(accountAt(known, end).concurrency, standardPlans.starter.concurrency)
        yield* search(account, 1)
        const expected = {
          plan: "starter" as const,
          quota: 5_000,
          used: 1,
          resetsAt: Date.parse("2027-03-31T08:00:00Z")
        }
        assert.deepInclude(yield* allowanceOf(account), expected)
        yield* (yield* ProviderLevers).advance
        yield* deliver
        assert.deepInclude(yield* allowanceOf(account), expected)
        assert.deepStrictEqual(yield* discrepanciesOf(account), [])
      })
    )
  )

  it.effect("R31: the period that R31 opened takes the provider's dates in place, with its use", () =>
    withBilling(
      Effect.gen(function* () {
        yield* at("2027-01-15T00:00:00Z")
        const { account, id } = yield* subscribed("starter")
        yield* at("2027-02-15T00:00:05Z")
        yield* search(account, 9)
        const { state } = yield* ProviderLevers
        const subscription = state.subscriptions.get(id)
        const period = { start: Date.parse("2027-02-14T23:00:00Z"), end: Date.parse("2027-03-14T23:00:00Z") }
        assert.isDefined(subscription)
        if (subscription !== undefined) subscription.period = period
        yield* (yield* Reconciler).bringSubscription(id)
        assert.deepInclude(yield* allowanceOf(account), {
          quota: 5_000,
          used: 9,
          periodStart: period.start,
          resetsAt: period.end
        })
        yield* (yield* Reconciler).bringSubscription(id)
        yield* at("2027-03-14T23:00:00Z")
        assert.deepInclude(yield* allowanceOf(account), { used: 0, resetsAt: Date.parse("2027-04-14T23:00:00Z") })
        assert.deepStrictEqual(yield* discrepanciesOf(account), [])
      })
    )
  )

  it.effect("R41: of two subscriptions the higher plan counts, and the sweep reports the second", () =>
    withBilling(
      Effect.gen(function* () {
        yield* at("2027-03-01T00:00:00Z")
        const { account, id } = yield* subscribed("starter")
        const levers = yield* ProviderLevers
        const customerId = levers.state.subscriptions.get(id)?.customerId ?? ""
        const buyer = { accountId: account.id, email: account.email, customerId, address: undefined }
        yield* levers.subscribe(buyer, "business")
        yield* at("2027-03-01T00:10:00Z")
        const drifts = (yield* (yield* Reconciler).sweep("open")).filter(({ accountId }) => accountId === account.id)
        assert.includeMembers(
          drifts.map(({ kind }) => kind),
          ["second_subscription"]
        )
        assert.deepInclude(yield* allowanceOf(account), { plan: "business", quota: 200_000 })
        const higher = [...levers.state.subscriptions.values()].find(({ plan }) => plan === "business")
        yield* levers.cancel(higher?.id ?? "", true)
        yield* deliver
        assert.deepInclude(yield* allowanceOf(account), { plan: "starter", quota: 5_000 })
      })
    )
  )

  it.effect("R37: a reading that began earlier is not booked over a later one", () =>
    withBilling(
      Effect.gen(function* () {
        yield* at("2027-03-01T00:00:00Z")
        const { account, id } = yield* subscribed("growth")
        const books = yield* BillingBooks
        const { state } = yield* ProviderLevers
        const early = yield* books.nextReading
        const subscription = state.subscriptions.get(id)
        assert.isDefined(subscription)
        if (subscription === undefined) return
        const { customerId } = subscription
        const old = { ...subscription, plan: "growth" as const, orders: [] }
        yield* (yield* ProviderLevers).cancel(id, true)
        yield* deliver
        const late = { accountId: account.id, customerId, reading: early, subscriptions: [old], graceMs: 0 }
        assert.strictEqual(yield* books.bookSubscriptions(late), "outdated")
        assert.deepInclude(yield* allowanceOf(account), { plan: "trial" })
      })
    )
  )

  it.effect("R40: an order refunded or void weeks after it was paid is taken back by the next hourly sweep", () =>
    withBilling(
      Effect.gen(function* () {
        yield* at("2027-03-01T00:00:00Z")
        const { account } = yield* subscribed("growth")
        const [orderId, refundedId] = [yield* buyPack(account), yield* buyPack(account)]
        const books = yield* BillingBooks
        const { calls } = (yield* ProviderLevers).state
        const sweep = Effect.gen(function* () {
          const hourAgo = (yield* Clock.currentTimeMillis) - 3_600_000
          return yield* (yield* Reconciler).sweep("changed", hourAgo)
        })
        yield* TestClock.adjust("39 days")
        // Its delivery is lost.
        yield* (yield* ProviderLevers).void(orderId)
        yield* TestClock.adjust("1 hour")
        yield* sweep
        assert.deepInclude(yield* books.account(account.id), { balance: 10_000, owed: 0 })
        const before = calls.get("order") ?? 0
        assert.deepStrictEqual(yield* sweep, [])
        assert.strictEqual(calls.get("order") ?? 0, before, "no order is read alone for what the list says")
        // The delivery of the refund is lost too.
        yield* (yield* ProviderLevers).refund(refundedId, 400)
        yield* TestClock.adjust("1 hour")
        yield* sweep
        assert.deepInclude(yield* books.account(account.id), { balance: 5_000, owed: 0 })
        assert.deepStrictEqual(yield* discrepanciesOf(account), [])
      })
    )
  )

  it.effect("R40: a lost dispute takes the pack back and stops purchases until an operator allows them", () =>
    withBilling(
      Effect.gen(function* () {
        yield* at("2027-03-01T00:00:00Z")
        const { account } = yield* subscribed("growth")
        const orderId = yield* buyPack(account)
        const levers = yield* ProviderLevers
        const books = yield* BillingBooks
        const billing = yield* Billing
        const reconciler = yield* Reconciler
        yield* levers.dispute(orderId, "open")
        yield* reconciler.sweep("changed")
        assert.deepInclude(yield* books.account(account.id), { balance: 10_000, blockedAt: undefined })
        yield* levers.dispute(orderId, "lost")
        yield* reconciler.sweep("changed")
        yield* reconciler.sweep("changed")
        assert.deepInclude(yield* books.account(account.id), { balance: 0, owed: 0 })
        const stopped = yield* Effect.flip(billing.buyPack(account, 10_000, undefined))
        assert.strictEqual(stopped._tag, "billing_unavailable")
        assert.isFalse((yield* billing.state(account)).open)
        yield* search(account, 1)
        assert.isTrue(yield* books.unblock(account.id))
        yield* reconciler.sweep("changed")
        yield* billing.buyPack(account, 10_000, undefined)
        assert.deepStrictEqual(yield* discrepanciesOf(account), [])
      })
    )
  )

  it.effect(
    "R42: an account that is removed leaves its customer to be removed, and what comes later changes nothing",
    () =>
      withBilling(
        Effect.gen(function* () {
          yield* at("2027-03-01T00:00:00Z")
          const { account, id } = yield* subscribed("growth")
          const { state } = yield* ProviderLevers
          const reconciler = yield* Reconciler
          yield* (yield* Accounts).remove(account.id)
          state.isUp = false
          assert.strictEqual(yield* reconciler.drainRemovals, 0)
          state.isUp = true
          assert.strictEqual(yield* reconciler.drainRemovals, 0)
          yield* TestClock.adjust("3 seconds")
          assert.strictEqual(yield* reconciler.drainRemovals, 1)
          assert.strictEqual(state.subscriptions.get(id)?.status, "ended")
          yield* deliver
          assert.strictEqual(yield* reconciler.drainRemovals, 0)
        })
      )
  )

  it.effect("R42: our books answer before the provider is asked, and an unreachable provider is 503", () =>
    withBilling(
      Effect.gen(function* () {
        yield* at("2027-03-01T00:00:00Z")
        const billing = yield* Billing
        const { state } = yield* ProviderLevers
        const trial = yield* makeAccount({ plan: "trial" })
        const custom = yield* makeAccount({ plan: "custom", quota: 5 })
        const rated = yield* makeAccount({ plan: "custom", quota: 5, packRate: 40 })
        const { account } = yield* subscribed("growth")
        state.isUp = false
        const codeOf = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
          Effect.match(effect, { onFailure: ({ _tag }) => _tag, onSuccess: () => "bought" })
        const codes = yield* Effect.all([
          codeOf(billing.buyPack(trial, 10_000, undefined)),
          codeOf(billing.changePlan(trial, "growth", undefined)),
          codeOf(billing.portal(trial)),
          codeOf(billing.buyPack(custom, 10_000, undefined)),
          codeOf(billing.checkout(account, "growth", undefined)),
          codeOf(billing.checkout(account, "starter", undefined)),
          codeOf(billing.changePlan(account, "starter", "now")),
          codeOf(billing.changePlan(account, "growth", undefined)),
          codeOf(billing.changePlan(account, "business", undefined)),
          codeOf(billing.checkout(trial, "growth", undefined))
        ])
        assert.deepStrictEqual(codes, [
          "no_subscription",
          "no_subscription",
          "no_subscription",
          "billing_unavailable",
          "plan_unchanged",
          "invalid_request",
          "invalid_request",
          "plan_unchanged",
          "billing_unavailable",
          "billing_unavailable"
        ])
        state.isUp = true
        assert.strictEqual((yield* billing.buyPack(rated, 50_000, undefined)).price, 2_000)
        state.declines = true
        assert.strictEqual((yield* Effect.flip(billing.changePlan(account, "business", "now")))._tag, "payment_failed")
        state.declines = false
        state.isLocked = true
        assert.strictEqual((yield* Effect.flip(billing.changePlan(account, "business", "now")))._tag, "billing_busy")
      })
    )
  )

  it.effect("R42: a declined upgrade leaves a subscription that is canceled at its period's end canceled", () =>
    withBilling(
      Effect.gen(function* () {
        const { account, id } = yield* subscribed("starter")
        const billing = yield* Billing
        const { cancel, state } = yield* ProviderLevers
        yield* cancel(id, false)
        state.declines = true
        assert.strictEqual((yield* Effect.flip(billing.changePlan(account, "growth", "now")))._tag, "payment_failed")
        assert.isTrue(state.subscriptions.get(id)?.cancelAtPeriodEnd)
        state.declines = false
        yield* billing.changePlan(account, "growth", "now")
        assert.deepInclude(state.subscriptions.get(id), { plan: "growth", cancelAtPeriodEnd: false })
      })
    )
  )

  it.effect("R37: a delivery waits while the provider is down, and is stored once", () =>
    withBilling(
      Effect.gen(function* () {
        yield* at("2027-03-01T00:00:00Z")
        const { account } = yield* subscribed("growth")
        const { state, ...levers } = yield* ProviderLevers
        const reconciler = yield* Reconciler
        const billing = yield* Billing
        const { url } = yield* billing.buyPack(account, 50_000, undefined)
        yield* levers.pay(url.split("/").at(-1) ?? "")
        const headers = { "webhook-id": state.outbox[0]?.deliveryId }
        yield* billing.receive(headers, new Uint8Array())
        yield* billing.receive(headers, new Uint8Array())
        state.isUp = false
        assert.strictEqual(yield* reconciler.drainInbox, 0)
        state.isUp = true
        assert.strictEqual(yield* reconciler.drainInbox, 0)
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(yield* reconciler.drainInbox, 1)
        assert.deepInclude(yield* allowanceOf(account), { balance: 50_000 })
        yield* billing.receive(headers, new Uint8Array())
        assert.strictEqual(yield* reconciler.drainInbox, 0)
        yield* TestClock.adjust("1 second")
        assert.isAtLeast(yield* (yield* BillingBooks).pruneDeliveries(0), 1)
      })
    )
  )

  it.effect("R42: a sync asks the provider once in 5 seconds, and believes no checkout of somebody else", () =>
    withBilling(
      Effect.gen(function* () {
        yield* at("2027-03-01T00:00:00Z")
        const levers = yield* ProviderLevers
        const billing = yield* Billing
        const account = yield* makeAccount({ plan: "trial" })
        const stranger = yield* makeAccount({ plan: "trial" })
        const { url } = yield* billing.checkout(account, "growth", undefined)
        const checkoutId = url.split("/").at(-1) ?? ""
        yield* levers.pay(checkoutId)
        assert.deepInclude(yield* billing.sync(stranger, checkoutId), { plan: "trial", subscription: undefined })
        assert.deepInclude(yield* billing.sync(account, checkoutId), { plan: "growth" })
        const asked = levers.state.calls.get("subscriptionsOf")
        yield* billing.sync(account, checkoutId)
        assert.strictEqual(levers.state.calls.get("subscriptionsOf"), asked)
        yield* TestClock.adjust("5 seconds")
        yield* billing.sync(account, checkoutId)
        assert.strictEqual(levers.state.calls.get("subscriptionsOf"), (asked ?? 0) + 1)
      })
    )
  )

  it.effect("one replica takes a due sweep, and a failed sweep is due again", () =>
    withBilling(
      Effect.gen(function* () {
        yield* at("2027-06-01T00:00:00Z")
        const books = yield* BillingBooks
        const first = yield* books.takeSweep("open", 300_000, 60_000)
        assert.isDefined(first)
        assert.isUndefined(yield* books.takeSweep("open", 300_000, 60_000))
        yield* books.finishSweep("open", first?.startedAt ?? 0, false)
        const second = yield* books.takeSweep("open", 300_000, 60_000)
        assert.deepStrictEqual(second, first)
        yield* books.finishSweep("open", second?.startedAt ?? 0, true)
        assert.isUndefined(yield* books.takeSweep("open", 300_000, 60_000))
        yield* TestClock.adjust("5 minutes")
        assert.strictEqual((yield* books.takeSweep("open", 300_000, 60_000))?.since, second?.startedAt)
      })
    )
  )

  it.effect("R41: after the grace the trial's terms apply to the second, and paid later the plan is back", () =>
    withBilling(
      Effect.gen(function* () {
        yield* at("2027-01-31T00:00:00Z")
        const { account, id } = yield* subscribed("starter")
        const levers = yield* ProviderLevers
        levers.state.declines = true
        yield* at("2027-02-28T00:00:01Z")
        yield* levers.advance
        yield* deliver
        yield* search(account, 7)
        yield* at("2027-03-02T23:59:59.999Z")
        assert.deepInclude(yield* allowanceOf(account), { plan: "starter", quota: 5_000, used: 7 })
        yield* at("2027-03-03T00:00:00Z")
        assert.deepInclude(yield* allowanceOf(account), { plan: "trial", quota: 100, used: 0 })
        yield* search(account, 3)
        levers.state.declines = false
        yield* levers.recover(id)
        yield* deliver
        assert.deepInclude(yield* allowanceOf(account), { plan: "starter", quota: 5_000, used: 7 })
        assert.deepStrictEqual(yield* discrepanciesOf(account), [])
      })
    )
  )

  it.effect("R53: a renewal that is not paid is one payment.past_due, and the next one another", () =>
    withBilling(
      Effect.gen(function* () {
        yield* at("2027-01-31T00:00:00Z")
        const { account, id } = yield* subscribed("starter")
        const books = yield* EventBooks
        yield* books.addEndpoint(account.id, {
          id: yield* (yield* Ids).make("whk_"),
          url: "https://example.com/hook",
          types: ["payment.past_due"],
          secret: Redacted.make("whsec_")
        })
        const levers = yield* ProviderLevers
        const limits = { working: 10_000, failing: 10_000, perEndpoint: 10_000 }
        const datas = Effect.map(books.take(limits, 60_000), (taken) =>
          taken.filter(({ event }) => event.accountId === account.id).map(({ event }) => event.data)
        )
        /** A period ends, the card declines, and the provider says it once more. */
        const decline = Effect.fnUntraced(function* (moment: string) {
          levers.state.declines = true
          yield* at(moment)
          yield* levers.advance
          yield* deliver
          const object = { kind: "subscription" as const, id }
          levers.state.outbox.push({ deliveryId: `again ${moment}`, kind: "subscription.updated", object })
          yield* deliver
        })
        assert.deepStrictEqual(yield* datas, [])
        yield* decline("2027-02-28T00:00:01Z")
        assert.deepStrictEqual(yield* datas, [
          {
            plan: "starter",
            past_due_since: "2027-02-28T00:00:00.000Z",
            current_period_end: "2027-03-31T00:00:00.000Z"
          }
        ])
        levers.state.declines = false
        yield* levers.recover(id)
        yield* deliver
        assert.deepStrictEqual(yield* datas, [])
        yield* decline("2027-03-31T00:00:01Z")
        assert.deepInclude((yield* datas)[0], { past_due_since: "2027-03-31T00:00:00.000Z" })
      })
    )
  )
}
