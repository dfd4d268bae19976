import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { constantHistory, limitsOfPeriod } from "../../../src/domain/billing/PlanHistory.ts"
import { standardPlans } from "../../../src/domain/credits/Plan.ts"
import type { Buyer, PaymentProvider } from "../../../src/services/billing/PaymentProvider.ts"
import type { FakePolar } from "../../support/polar/FakePolar.ts"
import { polar } from "../../support/polar/Provider.ts"

type Provider = PaymentProvider["Service"]

const accountId = "acc_ada"
const email = "ada@example.com"
const day = 86_400_000

const nobodyIsGone = () => Effect.succeed(false)

const buyer = (provider: Provider): Effect.Effect<Buyer> =>
  provider.customerOf(accountId, email, nobodyIsGone).pipe(
    Effect.map((customerId) => ({ accountId, email, customerId, address: "203.0.113.9" })),
    Effect.orDie
  )

/** A customer who has bought a plan. */
const subscribed = Effect.fnUntraced(function* (fake: FakePolar, provider: Provider, plan: "starter" | "growth") {
  const it = yield* buyer(provider)
  const page = yield* provider.openPlanCheckout(it, plan)
  assert.isTrue(fake.model.pay(page.id))
  const [subscription] = yield* provider.subscriptionsOf(it.customerId)
  return { buyer: it, subscription: subscription ?? assert.fail("There is no subscription.") }
})

/** A fake whose clock stands still at this time, until it is moved. */
const at = (time: string) => polar({ wallClock: () => Date.parse(time) })

const pack = { credits: 10_000, cents: 800 } as const

describe("R42: the provider's customer of an account", () => {
  it.effect("is made with the first purchase and found again", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      const id = yield* provider.customerOf(accountId, email, nobodyIsGone)
      assert.strictEqual(fake.model.customer(id).externalId, accountId)
      assert.strictEqual(yield* provider.customerOf(accountId, "ada@new.example.com", nobodyIsGone), id)
      assert.strictEqual(fake.model.customers.size, 1)
    })
  )

  it.effect("R32: is the customer of the same address if it has no account or a deleted account", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      const free = fake.model.createCustomer(undefined, "Ada@example.com")
      const left = fake.model.createCustomer("acc_gone", "bob@example.com")
      const isGone = (id: string) => Effect.succeed(id === "acc_gone")
      assert.strictEqual(yield* provider.customerOf(accountId, email, isGone), free.id)
      assert.strictEqual(yield* provider.customerOf("acc_bob", "bob@example.com", isGone), left.id)
    })
  )

  it.effect("is never the one of another account", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      const { id } = fake.model.createCustomer("acc_other", email)
      const failure = yield* Effect.flip(provider.customerOf(accountId, email, nobodyIsGone))
      assert.deepInclude(failure, { _tag: "CustomerTaken", customerId: id })
    })
  )

  it.effect("is not made where Polar refuses the address", () =>
    Effect.gen(function* () {
      const { provider } = yield* polar()
      const failure = yield* Effect.flip(provider.customerOf(accountId, "no address", nobodyIsGone))
      assert.strictEqual(failure._tag, "ProviderUnavailable")
    })
  )
})

describe("a checkout", () => {
  it.effect("of a plan sells that plan alone, and is known by its id", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* at("2026-11-22T10:00:00Z")
      const it = yield* buyer(provider)
      const page = yield* provider.openPlanCheckout(it, "growth")
      assert.strictEqual(page.expiresAt, Date.parse("2026-11-23T10:00:00Z"))
      assert.isTrue(page.url.startsWith(`${fake.url}/checkout/`))
      const checkout = fake.lastCheckout()
      assert.deepInclude(checkout, { productId: fake.productIds.growth, cents: 4_900, address: "203.0.113.9" })
      assert.strictEqual(checkout.successUrl, "https://q.example/dashboard/billing?checkout_id={CHECKOUT_ID}")
      assert.deepStrictEqual(yield* provider.checkout(page.id), { customerId: it.customerId, accountId })
    })
  )

  it.effect.each(["0f6f1f0c-0000-4000-8000-0000000000ff", "../customers/", "", "1"])("is unknown by the id %j", (id) =>
    Effect.gen(function* () {
      const { provider } = yield* polar()
      assert.isUndefined(yield* provider.checkout(id))
    })
  )

  it.effect("R36: of a pack has the price that was quoted, without tax", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      const it = yield* buyer(provider)
      const page = yield* provider.openPackCheckout(it, pack)
      const { body } = fake.received.at(-1) ?? assert.fail()
      const price = { amount_type: "fixed", price_amount: 800, price_currency: "usd", tax_behavior: "exclusive" }
      assert.deepInclude(body, { prices: { [fake.productIds.pack]: [price] } })
      assert.isTrue(fake.model.pay(page.id))
      const [order] = yield* provider.ordersOf({ customerId: it.customerId })
      assert.deepInclude(order, { status: "paid", netCents: 800, refundedCents: 0, accountId })
      assert.deepStrictEqual(order?.purchase, { kind: "pack", credits: 10_000, quotedCents: 800 })
    })
  )

  it.effect("leads to a page on which a person pays, and back", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      const page = yield* provider.openPlanCheckout(yield* buyer(provider), "starter")
      const shown = yield* Effect.promise(() => fetch(page.url).then((response) => response.text()))
      assert.include(shown, "Starter")
      assert.include(shown, "$9.00 a month")
      const press = (name: string) => fetch(`${page.url}/${name}`, { method: "POST", redirect: "manual" })
      const declined = yield* Effect.promise(() => press("decline").then((response) => response.text()))
      assert.include(declined, "The payment was declined.")
      assert.strictEqual(fake.model.orders.size, 0)
      const paid = yield* Effect.promise(() => press("pay"))
      assert.strictEqual(paid.headers.get("location"), `https://q.example/dashboard/billing?checkout_id=${page.id}`)
      assert.strictEqual(fake.model.subscriptions.size, 1)
    })
  )
})

describe("a subscription", () => {
  it.effect("has the provider's dates, to the second", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* at("2027-01-31T08:15:30Z")
      const { subscription } = yield* subscribed(fake, provider, "starter")
      const start = Date.parse("2027-01-31T08:15:30Z")
      assert.deepInclude(subscription, { accountId, plan: "starter", status: "active", startedAt: start })
      assert.deepStrictEqual(subscription.period, { start, end: Date.parse("2027-02-28T08:15:30Z") })
      fake.model.advanceTo(Date.parse("2027-03-01T00:00:00Z"))
      const { period } = yield* provider.subscription(subscription.id)
      assert.deepStrictEqual(period, {
        start: Date.parse("2027-02-28T08:15:30Z"),
        end: Date.parse("2027-03-31T08:15:30Z")
      })
      const orders = yield* provider.ordersOf({ subscriptionId: subscription.id })
      assert.deepStrictEqual(
        orders.map(({ purchase }) => ("reason" in purchase ? purchase.reason : purchase.kind)),
        ["create", "cycle"]
      )
    })
  )

  it.effect("R39: goes up at once, and the order of the change has its instant and its share", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* at("2026-11-01T00:00:00Z")
      const { subscription } = yield* subscribed(fake, provider, "starter")
      fake.model.advance(15 * day)
      const changed = yield* provider.changePlan(subscription.id, "growth", "now")
      assert.strictEqual(changed.plan, "growth")
      const orders = yield* provider.ordersOf({ subscriptionId: subscription.id })
      const update = orders.at(-1) ?? assert.fail()
      assert.deepInclude(update, { status: "paid", netCents: 2_000, createdAt: Date.parse("2026-11-16T00:00:00Z") })
      assert.deepInclude(update.purchase, { kind: "plan", plan: "growth", reason: "update" })
      const steps = [{ plan: "growth", at: update.createdAt }] as const
      const { quota } = limitsOfPeriod(constantHistory(standardPlans), "starter", steps, changed.period)
      assert.strictEqual(quota, 5_000 + 35_000)
    })
  )

  it.effect("R39: goes down at the period's end, and that can be called off, also twice", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      const { subscription } = yield* subscribed(fake, provider, "growth")
      const { id, period } = subscription
      const pending = yield* provider.changePlan(id, "starter", "period_end")
      assert.deepInclude(pending, { plan: "growth", pending: { plan: "starter", at: period.end } })
      assert.isUndefined((yield* provider.callOffChange(id)).pending)
      assert.isUndefined((yield* provider.callOffChange(id)).pending)
      yield* provider.changePlan(id, "starter", "period_end")
      fake.model.advance(31 * day)
      assert.deepInclude(yield* provider.subscription(id), { plan: "starter", pending: undefined })
    })
  )

  it.effect("R42: is not changed by a payment that is declined", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      const { buyer, subscription } = yield* subscribed(fake, provider, "starter")
      fake.model.setCard(buyer.customerId, "declines")
      const failure = yield* Effect.flip(provider.changePlan(subscription.id, "growth", "now"))
      assert.strictEqual(failure._tag, "ProviderDeclined")
      assert.strictEqual((yield* provider.subscription(subscription.id)).plan, "starter")
    })
  )

  it.live("R42: that is locked is tried twice again, and is busy then", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      const { subscription } = yield* subscribed(fake, provider, "starter")
      const stored = fake.model.subscription(subscription.id)
      stored.locks = 2
      assert.strictEqual((yield* provider.changePlan(subscription.id, "growth", "now")).plan, "growth")
      stored.locks = 3
      const failure = yield* Effect.flip(provider.changePlan(subscription.id, "business", "now"))
      assert.strictEqual(failure._tag, "ProviderBusy")
      assert.strictEqual(stored.locks, 0)
    })
  )

  it.effect("that is canceled goes on to the period's end, and the cancellation can be taken back, also twice", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      const { subscription } = yield* subscribed(fake, provider, "starter")
      const { id } = subscription
      fake.model.setCancel(id, true)
      assert.deepInclude(yield* provider.subscription(id), { status: "active", cancelAtPeriodEnd: true })
      for (const isCanceled of [false, false, true, true]) {
        assert.strictEqual((yield* provider.setCancellation(id, isCanceled)).cancelAtPeriodEnd, isCanceled)
      }
      fake.model.advance(31 * day)
      const ended = yield* provider.subscription(id)
      assert.deepInclude(ended, { status: "ended", endedAt: ended.period.end })
    })
  )

  it.effect("R41: whose renewal is declined is past due, until a card pays or the last attempt fails", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      const { buyer, subscription } = yield* subscribed(fake, provider, "starter")
      const { id, period } = subscription
      fake.model.setCard(buyer.customerId, "declines")
      fake.model.advanceTo(period.end + 10 * day)
      const late = yield* provider.subscription(id)
      assert.deepInclude(late, { status: "past_due", pastDueAt: period.end })
      assert.strictEqual(late.period.start, period.end)
      fake.model.setCard(buyer.customerId, "pays")
      assert.deepInclude(yield* provider.subscription(id), { status: "active", pastDueAt: undefined })
      fake.model.setCard(buyer.customerId, "declines")
      fake.model.advanceTo(late.period.end + 22 * day)
      assert.strictEqual((yield* provider.subscription(id)).status, "ended")
    })
  )

  it.effect("is among the open ones until it is over", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      const { subscription } = yield* subscribed(fake, provider, "starter")
      assert.deepStrictEqual(
        (yield* provider.openSubscriptions).map(({ id }) => id),
        [subscription.id]
      )
      fake.model.revoke(subscription.id)
      assert.deepStrictEqual(yield* provider.openSubscriptions, [])
      assert.strictEqual((yield* provider.subscription(subscription.id)).status, "ended")
    })
  )

  it.effect.each(["0f6f1f0c-0000-4000-8000-0000000000ff", "../orders/", "x"])("is missing under the id %j", (id) =>
    Effect.gen(function* () {
      const { provider } = yield* polar()
      const failures = yield* Effect.all([
        Effect.flip(provider.subscription(id)),
        Effect.flip(provider.order(id)),
        Effect.flip(provider.changePlan(id, "growth", "now")),
        Effect.flip(provider.callOffChange(id)),
        Effect.flip(provider.setCancellation(id, false))
      ])
      assert.deepStrictEqual(new Set(failures.map(({ _tag }) => _tag)), new Set(["ProviderMissing"]))
    })
  )
})

describe("R40: what the provider took back", () => {
  it.effect("are refunds of a part and of the whole, and orders that became void", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      const it = yield* buyer(provider)
      for (let n = 0; n < 2; n++) fake.model.pay((yield* provider.openPackCheckout(it, pack)).id)
      const [first, second] = yield* provider.ordersOf({ customerId: it.customerId })
      const [refunded = "", voided = ""] = [first?.id, second?.id]
      const since = fake.model.now()
      fake.model.refund(refunded, 200)
      assert.deepInclude(yield* provider.order(refunded), { status: "paid", refundedCents: 200 })
      fake.model.refund(refunded)
      assert.deepInclude(yield* provider.order(refunded), { status: "paid", refundedCents: 800 })
      fake.model.voidOrder(voided)
      assert.deepInclude(yield* provider.order(voided), { status: "void", refundedCents: 800 })
      assert.deepStrictEqual(yield* provider.refundedSince(since), [refunded])
      assert.deepStrictEqual(yield* provider.voidOrders, [yield* provider.order(voided)])
      fake.model.advance(1_000)
      assert.deepStrictEqual(yield* provider.refundedSince(fake.model.now()), [])
      assert.lengthOf(yield* provider.ordersSince(since - 60_000), 2)
      assert.lengthOf(yield* provider.ordersSince(fake.model.now()), 0)
    })
  )

  it.effect("are disputes, for which nothing is delivered", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      const { subscription } = yield* subscribed(fake, provider, "starter")
      const [order] = yield* provider.ordersOf({ subscriptionId: subscription.id })
      const orderId = order?.id ?? ""
      const { id } = fake.model.dispute(orderId)
      assert.deepInclude((yield* provider.disputes)[0], { id, orderId, status: "open", cents: 900 })
      fake.model.decide(id, "lost")
      assert.deepInclude((yield* provider.disputes)[0], { id, status: "lost" })
      assert.strictEqual((yield* provider.subscription(subscription.id)).status, "ended")
      assert.strictEqual((yield* provider.order(orderId)).refundedCents, 0)
    })
  )
})

describe("the rest of the port", () => {
  it.effect("R42: removes the customer by our id, ends the subscriptions, and does it again without a fault", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      const { buyer, subscription } = yield* subscribed(fake, provider, "starter")
      yield* provider.removeCustomer(buyer.customerId)
      yield* provider.removeCustomer(buyer.customerId)
      assert.strictEqual((yield* provider.subscription(subscription.id)).status, "ended")
      assert.notStrictEqual(fake.model.customer(buyer.customerId).email, email)
    })
  )

  it.effect("opens the portal of a customer", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      const { buyer } = yield* subscribed(fake, provider, "starter")
      const page = yield* provider.openPortal(buyer.customerId)
      const shown = yield* Effect.promise(() => fetch(page.url).then((response) => response.text()))
      assert.include(shown, "Starter")
    })
  )

  it.effect("reads lists to their end, and each object once", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      const it = yield* buyer(provider)
      for (let n = 0; n < 3; n++) yield* provider.openPackCheckout(it, pack)
      const [checkout] = [...fake.model.checkouts.values()]
      for (let n = 0; n < 250; n++) {
        if (checkout !== undefined) checkout.status = "open"
        fake.model.pay(checkout?.id ?? "")
      }
      const orders = yield* provider.ordersOf({ customerId: it.customerId })
      assert.strictEqual(new Set(orders.map(({ id }) => id)).size, 250)
      assert.strictEqual(fake.received.filter(({ path }) => path === "/v1/orders/").length, 3)
    })
  )

  it.effect("knows what is not ours", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar({}, { products: { starter: "", growth: "", business: "", pack: "" } })
      const { id } = fake.model.createCustomer(undefined, email)
      const checkout = { customerId: id, cents: 900, isAdHoc: false, successUrl: "https://elsewhere.example" }
      const open = { ...checkout, returnUrl: undefined, address: undefined, metadata: {} }
      fake.model.pay(fake.model.openCheckout({ ...open, productId: fake.productIds.starter }).id)
      fake.model.pay(fake.model.openCheckout({ ...open, productId: fake.productIds.pack }).id)
      const orders = yield* provider.ordersOf({ customerId: id })
      assert.deepStrictEqual(
        orders.map(({ purchase }) => purchase),
        [{ kind: "other" }, { kind: "other" }]
      )
      assert.deepInclude((yield* provider.subscriptionsOf(id))[0], { plan: undefined, accountId: undefined })
    })
  )

  it.effect("sends the token and the version, and nothing of a trace", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      yield* provider.openSubscriptions
      const { headers } = fake.received.at(-1) ?? assert.fail()
      assert.strictEqual(headers["polar-version"], "2026-10")
      assert.strictEqual(headers.authorization, "Bearer polar_oat_fake_token")
      assert.isUndefined(headers.traceparent)
      assert.isUndefined(headers.b3)
    }).pipe(Effect.withSpan("caller"))
  )
})
