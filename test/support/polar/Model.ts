import { randomUUID } from "node:crypto"
import { standardPlans } from "../../../src/domain/credits/Plan.ts"
import type {
  Checkout,
  Customer,
  CustomerSession,
  Dispute,
  Metadata,
  Order,
  Product,
  Refund,
  Subscription
} from "./objects.ts"
import * as shapes from "./shapes.ts"

/** Emits an event with the object's current state. A delayed delivery therefore has an old state. */
export type Emit = (type: string, data: object) => void

/** An error response of Polar: the status and the body's fields. */
export class Refused extends Error {
  readonly status: number
  readonly body: object
  constructor(status: number, error: string, detail: unknown) {
    super(error)
    this.status = status
    this.body = { error, detail }
  }
}

export const missing = (): Refused => new Refused(404, "ResourceNotFound", "Not found")

export const invalid = (field: string, msg: string): Refused =>
  new Refused(422, "RequestValidationError", [{ loc: ["body", field], msg, type: "value_error" }])

const day = 86_400_000

/** Days after the first declined payment on which a renewal is retried. */
const retryDays = [2, 7, 14, 21]

/** The same day a month later, or the last day of a shorter month. The month after returns to the original day. */
const monthAfter = (millis: number, anchorDay: number): number => {
  const from = new Date(millis)
  const lastDay = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 2, 0)).getUTCDate()
  const next = new Date(millis)
  next.setUTCMonth(from.getUTCMonth() + 1, Math.min(anchorDay, lastDay))
  return next.getTime()
}

const product = (n: number, name: string, cents: number, interval: Product["interval"]): Product => ({
  id: `0f6f1f0c-0000-4000-8000-00000000000${n}`,
  priceId: `0f6f1f0c-0000-4000-8000-00000000001${n}`,
  createdAt: Date.UTC(2026, 0, 1),
  name,
  interval,
  cents,
  currency: "usd",
  isArchived: false
})

export const products = {
  starter: product(1, "Starter", standardPlans.starter.priceCents, "month"),
  growth: product(2, "Growth", standardPlans.growth.priceCents, "month"),
  business: product(3, "Business", standardPlans.business.priceCents, "month"),
  pack: product(4, "Credits", 1_000, undefined)
}

/** Ids of the products, by setting. */
export const productIds = {
  starter: products.starter.id,
  growth: products.growth.id,
  business: products.business.id,
  pack: products.pack.id
}

const byId = <A extends { readonly id: string }>(values: ReadonlyArray<A>) => new Map(values.map((it) => [it.id, it]))

export type Proration = "invoice" | "prorate" | "next_period" | "reset"

/** The state and rules of Polar that Quarry depends on. */
export class Model {
  readonly products = byId(Object.values(products).map((it) => ({ ...it })))
  readonly customers = new Map<string, Customer>()
  readonly checkouts = new Map<string, Checkout>()
  readonly subscriptions = new Map<string, Subscription>()
  readonly orders = new Map<string, Order>()
  readonly refunds = new Map<string, Refund>()
  readonly disputes = new Map<string, Dispute>()
  readonly sessions = new Map<string, CustomerSession>()
  /** Whether the organization allows several subscriptions per customer. */
  allowsSeveral = false
  private aheadMs = 0
  /** Time of the event being processed, if it is in the past. */
  private moment: number | undefined
  private readonly emit: Emit
  private readonly wallClock: () => number

  constructor(emit: Emit, wallClock: () => number) {
    this.emit = emit
    this.wallClock = wallClock
  }

  now(): number {
    return this.moment ?? this.wallClock() + this.aheadMs
  }

  /** Advances the clock and processes everything that becomes due, each at its own time. */
  advance(ms: number): void {
    this.aheadMs += ms
    this.catchUp()
  }

  advanceTo(millis: number): void {
    this.advance(Math.max(0, millis - this.now()))
  }

  catchUp(): void {
    const until = this.now()
    for (;;) {
      const due = this.nextDue()
      if (due === undefined || due.at > until) break
      this.moment = due.at
      due.run()
    }
    this.moment = undefined
  }

  private nextDue(): { readonly at: number; readonly run: () => void } | undefined {
    const due: Array<{ readonly at: number; readonly run: () => void }> = []
    for (const it of this.subscriptions.values()) {
      if (it.status === "active") due.push({ at: it.end, run: () => this.renew(it) })
    }
    for (const it of this.orders.values()) {
      if (it.nextAttemptAt !== undefined) due.push({ at: it.nextAttemptAt, run: () => this.payRenewal(it) })
    }
    return due.sort((a, b) => a.at - b.at)[0]
  }

  customer(id: string): Customer {
    const found = this.customers.get(id)
    if (found === undefined) throw missing()
    return found
  }

  product(id: string): Product {
    const found = this.products.get(id)
    if (found === undefined) throw invalid("product_id", "Product does not exist.")
    return found
  }

  order(id: string): Order {
    const found = this.orders.get(id)
    if (found === undefined) throw missing()
    return found
  }

  subscription(id: string): Subscription {
    const found = this.subscriptions.get(id)
    if (found === undefined) throw missing()
    return found
  }

  subscriptionJson(it: Subscription) {
    return shapes.subscriptionJson(it, this.product(it.productId), this.customer(it.customerId))
  }

  orderJson(it: Order) {
    const subscription = it.subscriptionId === undefined ? undefined : this.subscription(it.subscriptionId)
    return shapes.orderJson(
      it,
      this.product(it.productId),
      this.customer(it.customerId),
      subscription && { it: subscription, product: this.product(subscription.productId) }
    )
  }

  private stamps() {
    return { id: randomUUID() as string, createdAt: this.now() }
  }

  private tellSubscription(it: Subscription, ...kinds: ReadonlyArray<string>): void {
    it.modifiedAt = this.now()
    for (const kind of kinds) this.emit(`subscription.${kind}`, this.subscriptionJson(it))
  }

  private tellOrder(it: Order, ...kinds: ReadonlyArray<string>): void {
    it.modifiedAt = this.now()
    for (const kind of kinds) this.emit(`order.${kind}`, this.orderJson(it))
  }

  createCustomer(externalId: string | undefined, email: string): Customer {
    for (const it of this.customers.values()) {
      if (it.deletedAt !== undefined) continue
      if (it.email.toLowerCase() === email.toLowerCase()) throw invalid("email", "A customer with this email exists.")
      if (externalId !== undefined && it.externalId === externalId) {
        throw invalid("external_id", "A customer with this external ID exists.")
      }
    }
    const made: Customer = { ...this.stamps(), externalId, email, card: "pays", deletedAt: undefined }
    this.customers.set(made.id, made)
    return made
  }

  /** Ends the customer's subscriptions and deletes personal data. */
  deleteCustomer(id: string): void {
    const customer = this.customer(id)
    if (customer.deletedAt !== undefined) throw missing()
    for (const it of this.subscriptions.values()) {
      if (it.customerId === id && it.status !== "canceled") this.end(it)
    }
    customer.deletedAt = this.now()
    customer.email = `${id}@deleted.example`
    this.emit("customer.deleted", shapes.customerJson(customer))
  }

  openCheckout(checkout: Omit<Checkout, "id" | "createdAt" | "clientSecret" | "expiresAt" | "status">): Checkout {
    const made: Checkout = {
      ...this.stamps(),
      ...checkout,
      clientSecret: `polar_c_${randomUUID().replaceAll("-", "")}`,
      expiresAt: this.now() + day,
      status: "open"
    }
    this.checkouts.set(made.id, made)
    return made
  }

  /** Pays a checkout. Returns false if the card is declined or the checkout has expired. */
  pay(checkoutId: string): boolean {
    const checkout = this.checkouts.get(checkoutId)
    if (checkout === undefined || checkout.status !== "open" || this.now() > checkout.expiresAt) return false
    const customer = this.customer(checkout.customerId ?? "")
    const isPlan = this.product(checkout.productId).interval !== undefined
    const isSubscribed = [...this.subscriptions.values()].some(
      (it) => it.customerId === customer.id && it.status !== "canceled"
    )
    if (customer.card === "declines" || (isPlan && isSubscribed && !this.allowsSeveral)) return false
    checkout.status = "succeeded"
    checkout.modifiedAt = this.now()
    if (isPlan) this.subscribe(checkout, customer)
    else {
      const order = this.makeOrder({ ...checkout, customerId: customer.id }, "purchase", undefined, checkout.cents)
      this.emit("order.created", this.orderJson(order))
      this.settle(order)
    }
    return true
  }

  private subscribe(checkout: Checkout, customer: Customer): void {
    const now = this.now()
    const anchorDay = new Date(now).getUTCDate()
    const subscription: Subscription = {
      ...this.stamps(),
      customerId: customer.id,
      productId: checkout.productId,
      status: "active",
      start: now,
      end: monthAfter(now, anchorDay),
      anchorDay,
      startedAt: now,
      cancelAtPeriodEnd: false,
      canceledAt: undefined,
      endedAt: undefined,
      pastDueAt: undefined,
      pending: undefined,
      carriedCents: 0,
      checkoutId: checkout.id,
      metadata: checkout.metadata,
      locks: 0
    }
    this.subscriptions.set(subscription.id, subscription)
    this.tellSubscription(subscription, "created", "updated", "active")
    const order = this.makeOrder(subscription, "subscription_create", subscription.id, checkout.cents)
    this.emit("order.created", this.orderJson(order))
    this.settle(order)
  }

  private makeOrder(
    of: {
      readonly customerId: string
      readonly productId: string
      readonly metadata: Metadata
      readonly checkoutId?: string | undefined
      readonly clientSecret?: string
      readonly id: string
    },
    reason: Order["reason"],
    subscriptionId: string | undefined,
    netCents: number
  ): Order {
    const order: Order = {
      ...this.stamps(),
      customerId: of.customerId,
      productId: of.productId,
      subscriptionId,
      checkoutId: subscriptionId === undefined ? of.id : of.checkoutId,
      reason,
      itemId: randomUUID(),
      invoiceNumber: `FAKE-${this.orders.size + 1}`,
      currency: this.product(of.productId).currency,
      netCents,
      taxCents: 0,
      metadata: of.metadata,
      status: "pending",
      refundedCents: 0,
      nextAttemptAt: undefined,
      declined: 0
    }
    this.orders.set(order.id, order)
    return order
  }

  private settle(order: Order): void {
    order.status = "paid"
    order.nextAttemptAt = undefined
    this.tellOrder(order, "updated", "paid")
  }

  /** Advances the period first, then charges the payment. */
  private renew(it: Subscription): void {
    if (it.cancelAtPeriodEnd) {
      this.end(it)
      return
    }
    if (it.pending !== undefined && it.pending.appliesAt <= it.end) {
      it.productId = it.pending.productId
      it.pending = undefined
    }
    it.start = it.end
    it.end = monthAfter(it.start, it.anchorDay)
    this.tellSubscription(it, "cycled", "updated")
    const cents = Math.max(0, this.product(it.productId).cents + it.carriedCents)
    it.carriedCents = 0
    const order = this.makeOrder(it, "subscription_cycle", it.id, cents)
    this.emit("order.created", this.orderJson(order))
    this.payRenewal(order)
  }

  private payRenewal(order: Order): void {
    const it = this.subscription(order.subscriptionId ?? "")
    if (this.customer(order.customerId).card === "pays") {
      this.settle(order)
      if (it.status === "past_due") {
        it.status = "active"
        it.pastDueAt = undefined
        this.tellSubscription(it, "updated", "active")
      }
      return
    }
    it.pastDueAt ??= this.now()
    const days = retryDays[order.declined]
    order.declined += 1
    order.nextAttemptAt = days === undefined ? undefined : it.pastDueAt + days * day
    this.tellOrder(order, "updated")
    if (days === undefined) this.end(it)
    else if (it.status !== "past_due") {
      it.status = "past_due"
      this.tellSubscription(it, "updated", "past_due")
    }
  }

  private end(it: Subscription): void {
    it.status = "canceled"
    it.canceledAt ??= this.now()
    it.endedAt = this.now()
    it.pending = undefined
    for (const order of this.orders.values()) if (order.subscriptionId === it.id) order.nextAttemptAt = undefined
    this.tellSubscription(it, "updated", "canceled", "revoked")
  }

  /** Replaces the card, which is charged immediately if a payment is due. */
  setCard(customerId: string, card: Customer["card"]): void {
    this.customer(customerId).card = card
    if (card === "declines") return
    for (const order of this.orders.values()) {
      if (order.customerId === customerId && order.nextAttemptAt !== undefined) this.payRenewal(order)
    }
  }

  private changeable(id: string): Subscription {
    const it = this.subscription(id)
    if (it.locks > 0) {
      it.locks -= 1
      throw new Refused(409, "SubscriptionLocked", "This subscription is pending an update.")
    }
    return it
  }

  /** Changes the product. Polar does not reject the current product. */
  changeProduct(id: string, productId: string, proration: Proration): Subscription {
    const it = this.changeable(id)
    if (it.status === "canceled" || it.cancelAtPeriodEnd) {
      throw new Refused(403, "AlreadyCanceledSubscription", "This subscription is already canceled.")
    }
    const to = this.product(productId)
    if (proration === "reset") throw invalid("proration_behavior", "Not available.")
    if (proration === "next_period") {
      it.pending = { ...this.stamps(), productId, appliesAt: it.end }
      this.tellSubscription(it, "updated")
      return it
    }
    const left = (it.end - this.now()) / (it.end - it.start)
    const cents = Math.round((to.cents - this.product(it.productId).cents) * left)
    if (proration === "invoice" && cents > 0 && this.customer(it.customerId).card === "declines") {
      throw new Refused(402, "PaymentFailed", "The payment failed.")
    }
    it.productId = productId
    it.pending = undefined
    this.tellSubscription(it, "updated")
    if (proration === "prorate" || cents <= 0) it.carriedCents += cents
    else {
      const order = this.makeOrder(it, "subscription_update", it.id, cents)
      this.emit("order.created", this.orderJson(order))
      this.settle(order)
    }
    return it
  }

  setCancel(id: string, cancels: boolean): Subscription {
    const it = this.changeable(id)
    if (it.status === "canceled" || (cancels && it.cancelAtPeriodEnd)) {
      throw new Refused(403, "AlreadyCanceledSubscription", "This subscription is already canceled.")
    }
    if (!cancels && !it.cancelAtPeriodEnd) throw invalid("cancel_at_period_end", "Subscription is not canceled.")
    it.cancelAtPeriodEnd = cancels
    it.canceledAt = cancels ? this.now() : undefined
    if (cancels) it.pending = undefined
    this.tellSubscription(it, "updated", cancels ? "canceled" : "uncanceled")
    return it
  }

  clearPending(id: string): Subscription {
    const it = this.changeable(id)
    if (it.pending === undefined) throw invalid("pending_update", "There is no pending update.")
    it.pending = undefined
    this.tellSubscription(it, "updated")
    return it
  }

  revoke(id: string): Subscription {
    const it = this.changeable(id)
    if (it.status === "canceled") throw new Refused(403, "AlreadyCanceledSubscription", "Already canceled.")
    this.end(it)
    return it
  }

  /** An operator restores a subscription in Polar's dashboard, so no status is final. */
  reinstate(id: string): Subscription {
    const it = this.subscription(id)
    Object.assign(it, { status: "active", cancelAtPeriodEnd: false, canceledAt: undefined, endedAt: undefined })
    this.tellSubscription(it, "updated", "uncanceled")
    return it
  }

  /** Refunds all or part of the remaining amount. Does not end a subscription. */
  refund(orderId: string, cents?: number, reason = "customer_request"): Refund {
    const order = this.order(orderId)
    const left = order.netCents - order.refundedCents
    const amount = Math.min(cents ?? left, left)
    const refund: Refund = { ...this.stamps(), orderId, cents: amount, reason, status: "succeeded" }
    this.refunds.set(refund.id, refund)
    order.refundedCents += amount
    order.status = order.refundedCents >= order.netCents ? "refunded" : "partially_refunded"
    this.emit("refund.created", shapes.refundJson(refund, order))
    this.tellOrder(order, "updated", "refunded")
    return refund
  }

  /** Opens a chargeback. There is no delivery for it, even if it is lost, which ends the subscription. */
  dispute(orderId: string, status: Dispute["status"] = "needs_response"): Dispute {
    const order = this.order(orderId)
    const dispute: Dispute = {
      ...this.stamps(),
      orderId,
      cents: order.netCents,
      paymentId: randomUUID(),
      status: "needs_response"
    }
    this.disputes.set(dispute.id, dispute)
    this.decide(dispute.id, status)
    return dispute
  }

  decide(disputeId: string, status: Dispute["status"]): void {
    const dispute = this.disputes.get(disputeId)
    if (dispute === undefined) throw missing()
    dispute.status = status
    dispute.modifiedAt = this.now()
    const { subscriptionId } = this.order(dispute.orderId)
    if (status === "prevented") this.refund(dispute.orderId, undefined, "dispute_prevention")
    if (subscriptionId === undefined || (status !== "lost" && status !== "prevented")) return
    const subscription = this.subscription(subscriptionId)
    if (subscription.status !== "canceled") this.end(subscription)
  }

  voidOrder(orderId: string): void {
    const order = this.order(orderId)
    order.status = "void"
    this.tellOrder(order, "updated")
  }

  openSession(customerId: string, returnUrl: string | undefined): CustomerSession {
    const token = `polar_cst_${randomUUID().replaceAll("-", "")}`
    const session = { ...this.stamps(), token, customerId, expiresAt: this.now() + 3_600_000, returnUrl }
    this.sessions.set(session.token, session)
    return session
  }
}
