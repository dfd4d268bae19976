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

const nudgeSubscription = (state: ProviderState, it: Mutable<Subscription>, now: number): void => {
  it.modifiedAt = now
  nudge(state, "subscription.updated", { kind: "subscription", id: it.id })
}

const nudgeOrder = (state: ProviderState, it: Mutable<Order>, now: number): void => {
  it.modifiedAt = now
  nudge(state, "order.updated", { kind: "order", id: it.id })
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

const end = (state: ProviderState, it: Mutable<Subscription>, now: number): void => {
  it.status = "ended"
  it.endedAt = now
  it.cancelAtPeriodEnd = false
  it.pending = undefined
  nudgeSubscription(state, it, now)
}

const changeNow = (state: ProviderState, it: Mutable<Subscription>, plan: SoldPlan, now: number): void => {
  const from = it.plan ?? plan
  it.plan = plan
  it.pending = undefined
  nudgeSubscription(state, it, now)
  if (!isUpgrade(from, plan)) return
  const share = (it.period.end - now) / (it.period.end - it.period.start)
  planOrder(
    state,
    it,
    "update",
    Math.max(Math.round((standardPlans[plan].priceCents - standardPlans[from].priceCents) * share), 1),
    now
  )
}

const renew = (state: ProviderState, it: Mutable<Subscription>): void => {
  const at = it.period.end
  if (it.cancelAtPeriodEnd) {
    end(state, it, at)
    return
  }
  it.plan = it.pending?.plan ?? it.plan
  it.pending = undefined
  it.period = billingCycle(it.startedAt, at)
  nudgeSubscription(state, it, at)
  if (it.status !== "active" || it.plan === undefined) return
  const order = planOrder(state, it, "cycle", standardPlans[it.plan].priceCents, at)
  if (!state.declines) return
  order.status = "pending"
  it.status = "past_due"
  it.pastDueAt = at
  nudgeSubscription(state, it, at)
}

const advance = (state: ProviderState, now: number): void => {
  for (const it of state.subscriptions.values()) {
    while (it.status !== "ended" && it.period.end <= now) renew(state, it)
  }
}

const recover = (state: ProviderState, it: Mutable<Subscription>, now: number): void => {
  if (it.status !== "past_due") return
  it.status = "active"
  it.pastDueAt = undefined
  nudgeSubscription(state, it, now)
  for (const order of state.orders.values()) {
    const { purchase } = order
    if (order.status !== "pending" || purchase.kind !== "plan" || purchase.subscriptionId !== it.id) continue
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
  const onSubscription = (id: string, step: (it: Mutable<Subscription>, now: number) => void) =>
    atNow((now) => {
      const it = state.subscriptions.get(id)
      if (it !== undefined && it.status !== "ended") step(it, now)
    })
  const onOrder = (id: string, step: (it: Mutable<Order>, now: number) => void) =>
    atNow((now) => {
      const it = state.orders.get(id)
      if (it !== undefined) step(it, now)
    })
  return {
    state,
    pay: (checkoutId) => atNow((now) => pay(state, checkoutId, now)),
    advance: atNow((now) => advance(state, now)),
    recover: (id) => onSubscription(id, (it, now) => recover(state, it, now)),
    refund: (id, cents) => onOrder(id, (it, now) => refund(state, it, cents, now)),
    void: (id) =>
      onOrder(id, (it, now) => {
        it.status = "void"
        it.refundedCents = it.netCents
        nudgeOrder(state, it, now)
      }),
    dispute: (id, status) => onOrder(id, (it, now) => dispute(state, it, status, now)),
    cancel: (id, atOnce) =>
      onSubscription(id, (it, now) => {
        if (atOnce) return end(state, it, now)
        it.cancelAtPeriodEnd = true
        nudgeSubscription(state, it, now)
      }),
    changeAtPortal: (id, plan) => onSubscription(id, (it, now) => changeNow(state, it, plan, now)),
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
  const it = map.get(id)
  return it === undefined ? Effect.fail(new ProviderMissing({ id })) : Effect.succeed({ ...it })
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
          for (const [id, it] of state.customers) {
            if (it.accountId === accountId) return id
            if (it.email !== email) continue
            if (!(yield* isGone(it.accountId))) return yield* new CustomerTaken({ customerId: id })
            it.accountId = accountId
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
          for (const it of state.subscriptions.values()) {
            if (it.customerId === customerId && it.status !== "ended") end(state, it, now)
          }
        })
      )
  } satisfies Part
}

const changes = (state: ProviderState) => {
  const change = (name: string, id: string, step: (it: Mutable<Subscription>, now: number) => void) =>
    call(state, name, (now) =>
      Effect.gen(function* () {
        const it = state.subscriptions.get(id)
        if (it === undefined || it.status === "ended") return yield* new ProviderMissing({ id })
        if (state.isLocked) return yield* new ProviderBusy()
        step(it, now)
        return { ...it }
      })
    )
  return {
    changePlan: (id, plan, when) =>
      state.declines && when === "now"
        ? call(state, "changePlan", () => Effect.fail(new ProviderDeclined()))
        : change("changePlan", id, (it, now) => {
            if (when === "now") return changeNow(state, it, plan, now)
            it.pending = { plan, at: it.period.end }
            nudgeSubscription(state, it, now)
          }),
    callOffChange: (id) =>
      change("callOffChange", id, (it, now) => {
        it.pending = undefined
        nudgeSubscription(state, it, now)
      }),
    setCancellation: (id, isCanceled) =>
      change("setCancellation", id, (it, now) => {
        it.cancelAtPeriodEnd = isCanceled
        nudgeSubscription(state, it, now)
      })
  } satisfies Part
}

const looks = (state: ProviderState) => {
  const all = <A>(name: string, map: Map<string, A>, keeps: (it: A) => boolean) =>
    call(state, name, () => Effect.succeed([...map.values()].filter(keeps).map((it) => ({ ...it }))))
  return {
    subscription: (id) => call(state, "subscription", () => found(state.subscriptions, id)),
    subscriptionsOf: (customerId) => all("subscriptionsOf", state.subscriptions, (it) => it.customerId === customerId),
    openSubscriptions: all("openSubscriptions", state.subscriptions, ({ status }) => status !== "ended"),
    order: (id) => call(state, "order", () => found(state.orders, id)),
    ordersOf: (of) =>
      all("ordersOf", state.orders, ({ customerId, purchase }) =>
        "customerId" in of
          ? customerId === of.customerId
          : purchase.kind === "plan" && purchase.subscriptionId === of.subscriptionId
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
