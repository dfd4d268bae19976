import { assert } from "@effect/vitest"
import { Effect, Layer, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import type { Account } from "../../../src/domain/accounts/Account.ts"
import { creditsRefunded, packSizes, soldPlans } from "../../../src/domain/billing/Purchase.ts"
import { Accounts } from "../../../src/services/accounts/Accounts.ts"
import { Billing } from "../../../src/services/billing/Billing.ts"
import { BillingBooks } from "../../../src/services/billing/BillingBooks.ts"
import type { Subscription } from "../../../src/services/billing/PaymentProvider.ts"
import { Reconciler } from "../../../src/services/billing/Reconciler.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import type { Ids } from "../../../src/services/Ids.ts"
import * as PaymentProviderMemory from "../../../src/testing/PaymentProviderMemory.ts"
import { ProviderLevers } from "../../../src/testing/PaymentProviderMemory.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { discrepanciesOf, makeAccount, makeRecords } from "../api/searches.ts"

/*
 * Random sequences of actions by users, the payment provider and the network, and the conditions that the books must
 * satisfy after each step and after a final sweep.
 */

const small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))
const who = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const plan = Schema.Literals(soldPlans)

export const Step = Schema.Union([
  Schema.TaggedStruct("subscribe", { who, plan, pays: Schema.Boolean }),
  Schema.TaggedStruct("subscribeTwice", { who, plan }),
  Schema.TaggedStruct("pack", { who, size: small }),
  Schema.TaggedStruct("change", { who, plan, when: Schema.Literals(["now", "period_end", "default"]) }),
  Schema.TaggedStruct("changeAtPortal", { which: small, plan }),
  Schema.TaggedStruct("cancel", { which: small, atOnce: Schema.Boolean }),
  Schema.TaggedStruct("recover", { which: small }),
  Schema.TaggedStruct("refund", { which: small, tenths: small }),
  Schema.TaggedStruct("void", { which: small }),
  Schema.TaggedStruct("dispute", { which: small, status: Schema.Literals(["open", "lost", "won"]) }),
  Schema.TaggedStruct("wait", { hours: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 900 })) }),
  Schema.TaggedStruct("search", { who, count: small }),
  Schema.TaggedStruct("spend", { who, tenths: small }),
  Schema.TaggedStruct("grant", { who, credits: small }),
  Schema.TaggedStruct("provider", { isUp: Schema.Boolean, declines: Schema.Boolean, isLocked: Schema.Boolean }),
  Schema.TaggedStruct("deliver", { picks: Schema.Array(small).check(Schema.isMaxLength(6)) }),
  Schema.TaggedStruct("lose", { which: small }),
  Schema.TaggedStruct("drain", {}),
  Schema.TaggedStruct("sweep", { extent: Schema.Literals(["open", "changed"]) })
])
export type Step = typeof Step.Type

/**
 * A sequence. It starts with the plans that the two accounts have bought, and with a pack that the first account has
 * partly spent (in tenths), because most steps concern purchases.
 */
export const Sequence = Schema.Struct({
  bought: Schema.Tuple([plan, Schema.NullOr(plan)]),
  spent: Schema.NullOr(small),
  steps: Schema.Array(Step).check(Schema.isMaxLength(20))
})

const arrive: ReadonlyArray<Step> = [{ _tag: "deliver", picks: [0, 1, 2, 3, 4, 5] }, { _tag: "drain" }]

const openingOf = ({ bought, spent }: typeof Sequence.Type): ReadonlyArray<Step> => [
  ...bought.flatMap(
    (it, index): ReadonlyArray<Step> => (it === null ? [] : [{ _tag: "subscribe", who: index, plan: it, pays: true }])
  ),
  ...arrive,
  ...(spent === null
    ? []
    : ([{ _tag: "pack", who: 0, size: 0 }, ...arrive, { _tag: "spend", who: 0, tenths: spent }] as const))
]

type Model = Accounts | Billing | BillingBooks | Ids | Ledger | ProviderLevers | Reconciler

/** Runs an effect with a separate payment provider. */
export const withProvider = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
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

const pick = <A>(items: ReadonlyArray<A>, which: number): A | undefined => items[which % Math.max(items.length, 1)]

const payFor = Effect.fnUntraced(function* (url: string) {
  yield* (yield* ProviderLevers).pay(url.split("/").at(-1) ?? "")
})

/** Performs a user's step through our own routes. Rejections are expected. */
const atRoutes = Effect.fnUntraced(function* (step: Step, accounts: ReadonlyArray<Account>) {
  const billing = yield* Billing
  const given = "who" in step ? accounts[step.who] : undefined
  if (given === undefined) return
  const account = yield* (yield* Accounts).byId(given.id)
  switch (step._tag) {
    case "subscribe": {
      const page = yield* billing.checkout(account, step.plan, undefined)
      if (step.pays) yield* payFor(page.url)
      return
    }
    case "pack": {
      const page = yield* billing.buyPack(account, pick(packSizes, step.size) ?? 10_000, undefined)
      yield* payFor(page.url)
      return
    }
    case "change":
      yield* billing.changePlan(account, step.plan, step.when === "default" ? undefined : step.when)
  }
})

const useCredits = Effect.fnUntraced(function* (step: Step, accounts: ReadonlyArray<Account>) {
  const ledger = yield* Ledger
  const account = "who" in step ? accounts[step.who] : undefined
  if (account === undefined) return
  const { balance } = yield* ledger.allowance(account)
  switch (step._tag) {
    case "search": {
      const hold = yield* ledger.reserve(account, step.count + 1)
      yield* ledger.settle(hold, yield* makeRecords(account, step.count))
      return
    }
    case "spend": {
      const credits = -Math.floor((balance * step.tenths) / 9)
      if (credits === 0) return
      yield* ledger.adjust({ accountId: account.id, credits, to: "balance", reason: "spent", by: "model" })
      return
    }
    case "grant":
      yield* ledger.grant(account.id, step.credits + 1, "a gift")
  }
})

const atProvider = Effect.fnUntraced(function* (step: Step, accounts: ReadonlyArray<Account>) {
  const levers = yield* ProviderLevers
  const { state } = levers
  const subscriptionId = "which" in step ? (pick([...state.subscriptions.keys()], step.which) ?? "") : ""
  const order = "which" in step ? pick([...state.orders.values()], step.which) : undefined
  switch (step._tag) {
    case "subscribeTwice": {
      const customer = [...state.customers].find(([, it]) => it.accountId === accounts[step.who]?.id)
      if (customer === undefined) return
      const [customerId, { accountId, email }] = customer
      return yield* levers.subscribe({ accountId, email, customerId, address: undefined }, step.plan)
    }
    case "changeAtPortal":
      return yield* levers.changeAtPortal(subscriptionId, step.plan)
    case "cancel":
      return yield* levers.cancel(subscriptionId, step.atOnce)
    case "recover":
      return yield* levers.recover(subscriptionId)
    case "refund":
      return yield* levers.refund(order?.id ?? "", Math.round(((order?.netCents ?? 0) * (step.tenths + 1)) / 10))
    case "void":
      return yield* levers.void(order?.id ?? "")
    case "dispute":
      return yield* levers.dispute(order?.id ?? "", step.status)
    case "provider":
      state.isUp = step.isUp
      state.declines = step.declines
      state.isLocked = step.isLocked
      return
    case "wait":
      yield* TestClock.adjust(step.hours * 3_600_000)
      return yield* levers.advance
  }
})

const onTheWay = Effect.fnUntraced(function* (step: Step) {
  const { state } = yield* ProviderLevers
  const reconciler = yield* Reconciler
  const billing = yield* Billing
  switch (step._tag) {
    case "deliver":
      for (const which of step.picks) {
        const nudge = pick(state.outbox, which)
        if (nudge !== undefined) yield* billing.receive({ "webhook-id": nudge.deliveryId }, new Uint8Array())
      }
      return
    case "lose": {
      const lost = pick(state.outbox, step.which)
      state.outbox = state.outbox.filter((it) => it !== lost)
      return
    }
    case "drain":
      yield* reconciler.drainInbox
      return
    case "sweep":
      yield* reconciler.sweep(step.extent)
  }
})

/** Pack credits minus debts of each account. */
const netCredits = (accounts: ReadonlyArray<Account>) =>
  Effect.flatMap(BillingBooks, (books) =>
    Effect.forEach(accounts, ({ id }) =>
      Effect.map(books.account(id), (it) => (it?.balance ?? Number.NaN) - (it?.owed ?? Number.NaN))
    )
  )

/** Performs a step. `own` sums the changes of pack credits that the accounts themselves caused. */
const take = Effect.fnUntraced(function* (step: Step, accounts: ReadonlyArray<Account>, own: Array<number>) {
  const { state } = yield* ProviderLevers
  const first = yield* netCredits(accounts)
  yield* Effect.result(atRoutes(step, accounts))
  if (!state.isUp) yield* Effect.result(onTheWay(step))
  const before = yield* netCredits(accounts)
  if (!state.isUp) assert.deepStrictEqual(before, first, "M5: a provider that is down changes no balance")
  yield* Effect.result(useCredits(step, accounts))
  const after = yield* netCredits(accounts)
  for (const index of accounts.keys()) own[index] = (own[index] ?? 0) + (after[index] ?? 0) - (before[index] ?? 0)
  yield* atProvider(step, accounts)
  if (state.isUp) yield* Effect.result(onTheWay(step))
})

/** The plan that follows from the provider's state, according to R41 alone. */
const planAtProvider = (subscriptions: ReadonlyArray<Subscription>, now: number) => {
  const graceMs = 3 * 24 * 3_600_000
  const entitled = subscriptions.filter(
    ({ pastDueAt, status }) => status === "active" || (status === "past_due" && (pastDueAt ?? 0) + graceMs > now)
  )
  return [...soldPlans].reverse().flatMap((name) => entitled.filter((it) => it.plan === name))[0]
}

const kept = (order: { credits: number; netCents: number; refundedCents: number; isLost: boolean; status: string }) =>
  order.isLost || order.status !== "paid"
    ? 0
    : order.credits - creditsRefunded(order.credits, order.netCents, order.refundedCents)

/** M1 and M3: each order of a pack granted its credits once, and the part not kept was taken back or is owed. */
const checkOrders = Effect.fnUntraced(function* (account: Account, own: number) {
  const { id: accountId } = account
  let total = own
  const { state } = yield* ProviderLevers
  const booked = new Map((yield* (yield* BillingBooks).orders(accountId, 1_000)).map((it) => [it.id, it]))
  for (const { id, netCents, purchase, refundedCents, status, ...order } of state.orders.values()) {
    if (order.accountId !== accountId || purchase.kind !== "pack") continue
    const isLost = [...state.disputes.values()].some((it) => it.orderId === id && it.status === "lost")
    const { granted = 0, takenBack = 0 } = booked.get(id) ?? {}
    // An order that was void before its first reading has granted nothing.
    if (status === "paid" || granted > 0) assert.strictEqual(granted, purchase.credits, `M1: ${id}`)
    const expected = kept({ credits: purchase.credits, netCents, refundedCents, isLost, status })
    assert.strictEqual(granted - takenBack, expected, `M3: ${id}`)
    total += expected
  }
  assert.deepStrictEqual(yield* netCredits([account]), [total], "M3: credits less what is owed")
})

/** M2: plan, period and scheduled change match the provider. */
const checkPlan = Effect.fnUntraced(function* ({ id }: Account) {
  const { state } = yield* ProviderLevers
  const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
  const account = yield* (yield* Accounts).byId(id)
  const own = [...state.subscriptions.values()].filter((it) => it.accountId === id)
  const best = planAtProvider(own, now)
  const allowance = yield* (yield* Ledger).allowance(account)
  assert.strictEqual(allowance.plan, best?.plan ?? "trial", "M2: plan")
  if (best === undefined) return
  const same = own.filter((it) => it.status !== "ended" && it.plan === best.plan)
  const period = [allowance.periodStart, allowance.resetsAt]
  assert.deepInclude(
    same.map((it) => [it.period.start, it.period.end]),
    period,
    "M2: period"
  )
  if (same.length > 1) return
  const next = (yield* (yield* Accounts).byId(id)).next
  const after = best.cancelAtPeriodEnd ? best.period.end : best.pending?.at
  if (best.status === "active") assert.strictEqual(next?.at, after, "M2: coming change")
})

/** Checks I1 for what an account's owner sees, and the debt. */
const checkCredits = Effect.fnUntraced(function* (account: Account) {
  const { balance, quota = 0, used } = yield* (yield* Ledger).allowance(account)
  const owed = (yield* (yield* BillingBooks).account(account.id))?.owed ?? 0
  assert.isTrue(used >= 0 && used <= quota && balance >= 0 && owed >= 0, `I1: ${used}/${quota}, ${balance}, ${owed}`)
})

/** Runs a sequence, and checks the books after each step and after a final sweep. */
export const runSequence = Effect.fnUntraced(function* (
  sequence: typeof Sequence.Type,
  options: { readonly verifiesEachStep: boolean }
): Effect.fn.Return<void, unknown, Model> {
  yield* TestClock.setTime(Date.parse("2027-01-31T23:59:59.250Z"))
  const accounts = [yield* makeAccount({ plan: "trial" }), yield* makeAccount({ plan: "trial" })]
  const own: Array<number> = []
  for (const step of [...openingOf(sequence), ...sequence.steps]) {
    yield* take(step, accounts, own)
    for (const account of accounts) {
      yield* checkCredits(account)
      if (options.verifiesEachStep) assert.deepStrictEqual(yield* discrepanciesOf(account), [], step._tag)
    }
  }
  const levers = yield* ProviderLevers
  levers.state.isUp = true
  levers.state.declines = false
  yield* levers.advance
  yield* (yield* Reconciler).sweep("changed")
  for (const [index, account] of accounts.entries()) {
    yield* checkCredits(account)
    yield* checkOrders(account, own[index] ?? 0)
    yield* checkPlan(account)
    assert.deepStrictEqual(yield* discrepanciesOf(account), [], "I2")
  }
  const again = yield* Effect.result((yield* Reconciler).sweep("changed"))
  const found = Result.isSuccess(again) ? again.success.filter(({ kind }) => kind !== "second_subscription") : again
  assert.deepStrictEqual(found, [], "a second sweep finds nothing")
})
