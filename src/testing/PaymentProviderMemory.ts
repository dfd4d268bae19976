import { Clock, Context, Effect, Layer } from "effect"
import { isUpgrade, type SoldPlan } from "../domain/billing/Purchase.ts"
import { billingCycle, standardPlans } from "../domain/credits/Plan.ts"
import {
  type Buyer,
  CustomerTaken,
  DeliveryInvalid,
  type Dispute,
  type Nudge,
  type Order,
  PaymentProvider,
  ProviderBusy,
  ProviderDeclined,
  ProviderMissing,
  ProviderUnavailable,
  type Subscription
} from "../services/billing/PaymentProvider.ts"

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

interface Checkout {
  readonly id: string
  readonly buyer: Buyer
  readonly buys:
    | { readonly kind: "plan"; readonly plan: SoldPlan }
    | { readonly kind: "pack"; readonly credits: number; readonly cents: number }
}

/** Makes IDs unique across providers, because tests share a store. */
let providers = 0

const fresh = () => {
  const outbox: Array<Nudge> = []
  const refunds: Array<{ readonly orderId: string; readonly at: number }> = []
  return {
    customers: new Map<string, { email: string; accountId: string }>(),
    checkouts: new Map<string, Checkout>(),
    subscriptions: new Map<string, Mutable<Subscription>>(),
    orders: new Map<string, Mutable<Order>>(),
    disputes: new Map<string, Mutable<Dispute>>(),
    outbox,
    isUp: true,
    declines: false,
    isLocked: false,
    refunds,
    calls: new Map<string, number>(),
    ids: 0,
    name: ++providers
  }
}

/** Tests can change the objects. Each change adds deliveries to `outbox`; the test decides which arrive, and when. */
export type ProviderState = ReturnType<typeof fresh>

const nextId = (state: ProviderState, prefix: string): string => `${prefix}_${state.name}_${++state.ids}`

const nudge = (state: ProviderState, kind: string, object: Nudge["object"]): void => {
  state.outbox.push({ deliveryId: nextId(state, "evt"), kind, object })
}

const nudgeSubscription = (state: ProviderState, subscription: Mutable<Subscription>, now: number): void => {
  subscription.modifiedAt = now
  nudge(state, "subscription.updated", { kind: "subscription", id: subscription.id })
}

const nudgeOrder = (state: ProviderState, order: Mutable<Order>, now: number): void => {
  order.modifiedAt = now
  nudge(state, "order.updated", { kind: "order", id: order.id })
}

const addOrder = (
  state: ProviderState,
  sold: Pick<Order, "accountId" | "customerId" | "netCents" | "purchase">,
  now: number
): Mutable<Order> => {
  const order: Mutable<Order> = {
    ...sold,
    id: nextId(state, "ord"),
    status: "paid",
    refundedCents: 0,
    createdAt: now,
    modifiedAt: now
  }
  state.orders.set(order.id, order)
  nudgeOrder(state, order, now)
  return order
}

const planOrder = (
  state: ProviderState,
  { accountId, customerId, id, plan }: Subscription,
  reason: "create" | "cycle" | "update",
  netCents: number,
  now: number
): Mutable<Order> => {
  const purchase =
    plan === undefined ? ({ kind: "other" } as const) : { kind: "plan" as const, plan, subscriptionId: id, reason }
  return addOrder(state, { accountId, customerId, netCents, purchase }, now)
}

const subscribe = (state: ProviderState, { accountId, customerId }: Buyer, plan: SoldPlan, now: number): void => {
  const subscription: Mutable<Subscription> = {
    id: nextId(state, "sub"),
    customerId,
    accountId,
    plan,
    status: "active",
    period: billingCycle(now, now),
    startedAt: now,
    cancelAtPeriodEnd: false,
    pending: undefined,
    pastDueAt: undefined,
    endedAt: undefined,
    modifiedAt: now
  }
  state.subscriptions.set(subscription.id, subscription)
  nudgeSubscription(state, subscription, now)
  planOrder(state, subscription, "create", standardPlans[plan].priceCents, now)
}

const pay = (state: ProviderState, checkoutId: string, now: number): void => {
  const checkout = state.checkouts.get(checkoutId)
  if (checkout === undefined) return
  state.checkouts.delete(checkoutId)
  const { buyer, buys } = checkout
  if (buys.kind === "plan") {
    subscribe(state, buyer, buys.plan, now)
    return
  }
  const { accountId, customerId } = buyer
  const purchase = { kind: "pack" as const, credits: buys.credits, quotedCents: buys.cents }
  addOrder(state, { accountId, customerId, netCents: buys.cents, purchase }, now)
}

const end = (state: ProviderState, subscription: Mutable<Subscription>, now: number): void => {
  subscription.status = "ended"
  subscription.endedAt = now
  subscription.cancelAtPeriodEnd = false
  subscription.pending = undefined
  nudgeSubscription(state, subscription, now)
}

const changeNow = (state: ProviderState, subscription: Mutable<Subscription>, plan: SoldPlan, now: number): void => {
  const from = subscription.plan ?? plan
  subscription.plan = plan
  subscription.pending = undefined
  nudgeSubscription(state, subscription, now)
  if (!isUpgrade(from, plan)) return
  const share = (subscription.period.end - now) / (subscription.period.end - subscription.period.start)
  planOrder(
    state,
    subscription,
    "update",
    Math.max(Math.round((standardPlans[plan].priceCents - standardPlans[from].priceCents) * share), 1),
    now
  )
}

const renew = (state: ProviderState, subscription: Mutable<Subscription>): void => {
  const at = subscription.period.end
  if (subscription.cancelAtPeriodEnd) {
    end(state, subscription, at)
    return
  }
  subscription.plan = subscription.pending?.plan ?? subscription.plan
  subscription.pending = undefined
  subscription.period = billingCycle(subscription.startedAt, at)
  nudgeSubscription(state, subscription, at)
  if (subscription.status !== "active" || subscription.plan === undefined) return
  const order = planOrder(state, subscription, "cycle", standardPlans[subscription.plan].priceCents, at)
  if (!state.declines) return
  order.status = "pending"
  subscription.status = "past_due"
  subscription.pastDueAt = at
  nudgeSubscription(state, subscription, at)
}

const advance = (state: ProviderState, now: number): void => {
  for (const subscription of state.subscriptions.values()) {
    while (subscription.status !== "ended" && subscription.period.end <= now) renew(state, subscription)
  }
}

const recover = (state: ProviderState, subscription: Mutable<Subscription>, now: number): void => {
  if (subscription.status !== "past_due") return
  subscription.status = "active"
  subscription.pastDueAt = undefined
  nudgeSubscription(state, subscription, now)
  for (const order of state.orders.values()) {
    const { purchase } = order
    if (order.status !== "pending" || purchase.kind !== "plan" || purchase.subscriptionId !== subscription.id) continue
    order.status = "paid"
    nudgeOrder(state, order, now)
  }
}

const refund = (state: ProviderState, order: Mutable<Order>, cents: number, now: number): void => {
  if (order.status !== "paid") return
  order.refundedCents = Math.min(order.refundedCents + cents, order.netCents)
  state.refunds.push({ orderId: order.id, at: now })
  nudgeOrder(state, order, now)
}

/** A chargeback has no delivery. Losing it ends the subscription that it paid for. */
const dispute = (state: ProviderState, order: Order, status: Dispute["status"], now: number): void => {
  const known = [...state.disputes.values()].find(({ orderId }) => orderId === order.id)
  const id = known?.id ?? nextId(state, "dis")
  state.disputes.set(id, { id, orderId: order.id, status, cents: order.netCents })
  if (status !== "lost" || order.purchase.kind !== "plan") return
  const subscription = state.subscriptions.get(order.purchase.subscriptionId)
  if (subscription !== undefined && subscription.status !== "ended") end(state, subscription, now)
}

export class ProviderLevers extends Context.Service<
  ProviderLevers,
  {
    readonly state: ProviderState
    readonly pay: (checkoutId: string) => Effect.Effect<void>
    readonly advance: Effect.Effect<void>
    readonly recover: (subscriptionId: string) => Effect.Effect<void>
    readonly refund: (orderId: string, cents: number) => Effect.Effect<void>
    readonly void: (orderId: string) => Effect.Effect<void>
    readonly dispute: (orderId: string, status: Dispute["status"]) => Effect.Effect<void>
    readonly cancel: (subscriptionId: string, atOnce: boolean) => Effect.Effect<void>
    /** At the provider's portal. A downgrade creates no order. */
    readonly changeAtPortal: (subscriptionId: string, plan: SoldPlan) => Effect.Effect<void>
    /** Creates a second subscription for a customer, which our own routes never do. */
    readonly subscribe: (buyer: Buyer, plan: SoldPlan) => Effect.Effect<void>
  }
>()("quarry/testing/ProviderLevers") {}

const leversOf = (state: ProviderState): ProviderLevers["Service"] => {
  const atNow = (step: (now: number) => void) => Effect.map(Clock.currentTimeMillis, step)
  const onSubscription = (id: string, step: (subscription: Mutable<Subscription>, now: number) => void) =>
    atNow((now) => {
      const subscription = state.subscriptions.get(id)
      if (subscription !== undefined && subscription.status !== "ended") step(subscription, now)
    })
  const onOrder = (id: string, step: (order: Mutable<Order>, now: number) => void) =>
    atNow((now) => {
      const order = state.orders.get(id)
      if (order !== undefined) step(order, now)
    })
  return {
    state,
    pay: (checkoutId) => atNow((now) => pay(state, checkoutId, now)),
    advance: atNow((now) => advance(state, now)),
    recover: (id) => onSubscription(id, (subscription, now) => recover(state, subscription, now)),
    refund: (id, cents) => onOrder(id, (order, now) => refund(state, order, cents, now)),
    void: (id) =>
      onOrder(id, (order, now) => {
        order.status = "void"
        order.refundedCents = order.netCents
        nudgeOrder(state, order, now)
      }),
    dispute: (id, status) => onOrder(id, (order, now) => dispute(state, order, status, now)),
    cancel: (id, atOnce) =>
      onSubscription(id, (subscription, now) => {
        if (atOnce) return end(state, subscription, now)
        subscription.cancelAtPeriodEnd = true
        nudgeSubscription(state, subscription, now)
      }),
    changeAtPortal: (id, plan) => onSubscription(id, (subscription, now) => changeNow(state, subscription, plan, now)),
    subscribe: (buyer, plan) => atNow((now) => subscribe(state, buyer, plan, now))
  }
}

const pageMs = 24 * 60 * 60 * 1000

const call = <A, E = never>(
  state: ProviderState,
  name: string,
  step: (now: number) => Effect.Effect<A, E>
): Effect.Effect<A, E | ProviderUnavailable> =>
  Effect.flatMap(Clock.currentTimeMillis, (now): Effect.Effect<A, E | ProviderUnavailable> => {
    state.calls.set(name, (state.calls.get(name) ?? 0) + 1)
    return state.isUp
      ? step(now)
      : Effect.fail(new ProviderUnavailable({ reason: "down for a test", retryAfter: undefined }))
  })

const found = <A>(map: Map<string, A>, id: string): Effect.Effect<A, ProviderMissing> => {
  const stored = map.get(id)
  return stored === undefined ? Effect.fail(new ProviderMissing({ id })) : Effect.succeed({ ...stored })
}

type Part = Partial<PaymentProvider["Service"]>

const purchases = (state: ProviderState) => {
  const owners = new Map<string, Buyer>()
  const open = (buyer: Buyer, buys: Checkout["buys"], now: number) => {
    const id = nextId(state, "chk")
    state.checkouts.set(id, { id, buyer, buys })
    owners.set(id, buyer)
    return Effect.succeed({ id, url: `https://pay.test/${id}`, expiresAt: now + pageMs })
  }
  return {
    customerOf: (accountId, email, isGone) =>
      call(state, "customerOf", () =>
        Effect.gen(function* () {
          for (const [id, customer] of state.customers) {
            if (customer.accountId === accountId) return id
            if (customer.email !== email) continue
            if (!(yield* isGone(customer.accountId))) return yield* new CustomerTaken({ customerId: id })
            customer.accountId = accountId
            return id
          }
          const id = nextId(state, "cus")
          state.customers.set(id, { email, accountId })
          return id
        })
      ),
    openPlanCheckout: (buyer, plan) =>
      call(state, "openPlanCheckout", (now) => open(buyer, { kind: "plan", plan }, now)),
    openPackCheckout: (buyer, { cents, credits }) =>
      call(state, "openPackCheckout", (now) => open(buyer, { kind: "pack", credits, cents }, now)),
    checkout: (id) =>
      call(state, "checkout", () => {
        const buyer = owners.get(id)
        return Effect.succeed(buyer && { customerId: buyer.customerId, accountId: buyer.accountId })
      }),
    openPortal: (customerId) =>
      call(state, "openPortal", (now) =>
        Effect.succeed({ id: customerId, url: `https://pay.test/portal/${customerId}`, expiresAt: now + pageMs })
      ),
    removeCustomer: (customerId) =>
      call(state, "removeCustomer", (now) =>
        Effect.sync(() => {
          state.customers.delete(customerId)
          for (const subscription of state.subscriptions.values()) {
            if (subscription.customerId === customerId && subscription.status !== "ended") end(state, subscription, now)
          }
        })
      )
  } satisfies Part
}

const changes = (state: ProviderState) => {
  const change = (name: string, id: string, step: (subscription: Mutable<Subscription>, now: number) => void) =>
    call(state, name, (now) =>
      Effect.gen(function* () {
        const subscription = state.subscriptions.get(id)
        if (subscription === undefined || subscription.status === "ended") return yield* new ProviderMissing({ id })
        if (state.isLocked) return yield* new ProviderBusy()
        step(subscription, now)
        return { ...subscription }
      })
    )
  return {
    changePlan: (id, plan, when) =>
      state.declines && when === "now"
        ? call(state, "changePlan", () => Effect.fail(new ProviderDeclined()))
        : change("changePlan", id, (subscription, now) => {
            if (when === "now") return changeNow(state, subscription, plan, now)
            subscription.pending = { plan, at: subscription.period.end }
            nudgeSubscription(state, subscription, now)
          }),
    callOffChange: (id) =>
      change("callOffChange", id, (subscription, now) => {
        subscription.pending = undefined
        nudgeSubscription(state, subscription, now)
      }),
    setCancellation: (id, isCanceled) =>
      change("setCancellation", id, (subscription, now) => {
        subscription.cancelAtPeriodEnd = isCanceled
        nudgeSubscription(state, subscription, now)
      })
  } satisfies Part
}

const looks = (state: ProviderState) => {
  const all = <A>(name: string, map: Map<string, A>, keeps: (stored: A) => boolean) =>
    call(state, name, () => Effect.succeed([...map.values()].filter(keeps).map((stored) => ({ ...stored }))))
  return {
    subscription: (id) => call(state, "subscription", () => found(state.subscriptions, id)),
    subscriptionsOf: (customerId) =>
      all("subscriptionsOf", state.subscriptions, (subscription) => subscription.customerId === customerId),
    openSubscriptions: all("openSubscriptions", state.subscriptions, ({ status }) => status !== "ended"),
    order: (id) => call(state, "order", () => found(state.orders, id)),
    ordersOf: (filter) =>
      all("ordersOf", state.orders, ({ customerId, purchase }) =>
        "customerId" in filter
          ? customerId === filter.customerId
          : purchase.kind === "plan" && purchase.subscriptionId === filter.subscriptionId
      ),
    ordersSince: (since) => all("ordersSince", state.orders, ({ createdAt }) => createdAt >= since),
    refundedSince: (since) =>
      call(state, "refundedSince", () =>
        Effect.succeed([...new Set(state.refunds.filter(({ at }) => at >= since).map(({ orderId }) => orderId))])
      ),
    voidOrders: all("voidOrders", state.orders, ({ status }) => status === "void"),
    disputes: all("disputes", state.disputes, () => true),
    verify: (headers) => {
      const sent = state.outbox.find(({ deliveryId }) => deliveryId === headers["webhook-id"])
      return sent === undefined
        ? Effect.fail(new DeliveryInvalid({ reason: "no such delivery was made" }))
        : Effect.succeed(sent)
    },
    check: call(state, "check", () => Effect.succeed([]))
  } satisfies Part
}

export const layer: Layer.Layer<PaymentProvider | ProviderLevers> = Layer.effectContext(
  Effect.sync(() => {
    const state = fresh()
    const port = PaymentProvider.of({ ...purchases(state), ...changes(state), ...looks(state) })
    return Context.make(PaymentProvider, port).pipe(Context.add(ProviderLevers, leversOf(state)))
  })
)
