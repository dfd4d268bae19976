import { Cause, Context, Duration, Effect, Layer, Metric } from "effect"
import { isSameSubscription, type PlanOrder, type SoldSubscription } from "../../domain/billing/Subscription.ts"
import type { NotFound } from "../../domain/errors.ts"
import { noSuchAccount } from "../accounts/Accounts.ts"
import { StoreClock, storeTime } from "../StoreClock.ts"
import { billingDrift, billingEvents } from "../telemetry/Metrics.ts"
import { BillingBooks, type Booking, type InboxItem, type Removal, type SweepExtent } from "./BillingBooks.ts"
import { BillingTerms } from "./BillingTerms.ts"
import {
  type Order,
  PaymentProvider,
  type ProviderMissing,
  type ProviderUnavailable,
  type Subscription
} from "./PaymentProvider.ts"

export const driftKinds = ["subscription", "order", "refund", "dispute", "second_subscription", "removal"] as const

/** A difference from the provider that a sweep found and fixed, usually because deliveries were lost. */
export interface Drift {
  readonly kind: (typeof driftKinds)[number]
  readonly accountId: string | undefined
  readonly objectId: string
}

const maxDeliveries = 64
const leaseMs = Duration.toMillis(Duration.seconds(30))
/** Limits concurrent reads, because the provider limits requests per minute. */
const maxReads = 4
const maxRemovals = 16

/** Backoff between attempts: 2 s, 4 s, and so on up to 10 minutes, without an end. */
const firstWaitMs = 2_000
const maxWaitMs = Duration.toMillis(Duration.minutes(10))
const maxDoublings = 12
const waitMs = (attempts: number): number => Math.min(firstWaitMs * 2 ** Math.min(attempts, maxDoublings), maxWaitMs)

/** Younger changes are not reported as drift, because their delivery may still arrive. */
const settlingMs = Duration.toMillis(Duration.minutes(2))
/** Each sweep overlaps the previous one, because clocks may differ and the status of an order may change later. */
const openLookBackMs = Duration.toMillis(Duration.hours(24))
const changedLookBackMs = Duration.toMillis(Duration.hours(25))

interface Deps {
  readonly provider: PaymentProvider["Service"]
  readonly books: BillingBooks["Service"]
  readonly clock: StoreClock["Service"]
  readonly graceMs: number
}

type Sold = Subscription & { readonly plan: NonNullable<Subscription["plan"]>; readonly accountId: string }

const isSold = (subscription: Subscription): subscription is Sold =>
  subscription.plan !== undefined && subscription.accountId !== undefined

const toSold = ({ accountId: _, customerId: __, endedAt: ___, ...subscription }: Sold): SoldSubscription => subscription

const toPlanOrder = ({ createdAt, purchase, status }: Order): ReadonlyArray<PlanOrder> =>
  purchase.kind === "plan" ? [{ plan: purchase.plan, reason: purchase.reason, status, createdAt }] : []

const unlessMissing = <A>(read: Effect.Effect<A, ProviderUnavailable | ProviderMissing>) =>
  Effect.catchTag(read, "ProviderMissing", () => Effect.undefined)

/** Ends the subscription too. */
const leave = Effect.fnUntraced(function* ({ books }: Deps, { accountId, customerId, status }: Sold) {
  return status !== "ended" && (yield* books.queueRemoval(customerId, accountId))
})

const readSubscriptions = Effect.fnUntraced(function* (
  { provider }: Deps,
  accountId: string,
  customerIds: ReadonlyArray<string>
) {
  const lists = yield* Effect.forEach(customerIds, provider.subscriptionsOf, { concurrency: maxReads })
  const own = lists.flat().filter((sold): sold is Sold => isSold(sold) && sold.accountId === accountId)
  return yield* Effect.forEach(own, (subscription) =>
    Effect.map(
      subscription.status === "ended"
        ? Effect.succeed<ReadonlyArray<Order>>([])
        : provider.ordersOf({ subscriptionId: subscription.id }),
      (orders) => ({ subscription, orders: orders.flatMap(toPlanOrder) })
    )
  )
})

const updatePlan = Effect.fn("Reconciler.bringPlan")(function* (
  deps: Deps,
  accountId: string,
  customerId: string | undefined
): Effect.fn.Return<{ readonly booking: Booking; readonly live: ReadonlyArray<string> }, ProviderUnavailable> {
  const { books, graceMs } = deps
  const reading = yield* books.nextReading
  const kept = (yield* books.account(accountId))?.customerId
  const customerIds = [...new Set([kept, customerId])].filter((id) => id !== undefined)
  if (customerIds[0] === undefined) return { booking: "unchanged", live: [] }
  const read = yield* readSubscriptions(deps, accountId, customerIds)
  const booking = yield* books.bookSubscriptions({
    accountId,
    customerId: customerIds[0],
    reading,
    subscriptions: read.map(({ orders, subscription }) => ({ ...toSold(subscription), orders })),
    graceMs
  })
  if (booking === "unknown") yield* Effect.forEach(read, ({ subscription }) => leave(deps, subscription))
  else if (kept === undefined && customerId !== undefined) yield* books.keepCustomer(accountId, customerId)
  return { booking, live: read.flatMap(({ subscription: { id, status } }) => (status === "ended" ? [] : [id])) }
})

const bringSubscription = Effect.fnUntraced(function* (deps: Deps, id: string) {
  const subscription = yield* unlessMissing(deps.provider.subscription(id))
  if (subscription === undefined || !isSold(subscription)) return
  yield* updatePlan(deps, subscription.accountId, subscription.customerId)
})

/** An order for a plan means that its subscription may have changed too. */
const bookOrder = Effect.fnUntraced(function* (deps: Deps, order: Order, reading: number) {
  const { books } = deps
  const { accountId, customerId, purchase } = order
  if (accountId === undefined || purchase.kind === "other") return "unknown" as const
  const booking = yield* books.bookOrder(order, reading)
  if (booking === "changed") {
    yield* books.keepCustomer(accountId, customerId)
    if (purchase.kind === "pack" && purchase.quotedCents !== order.netCents && order.status === "paid") {
      yield* Effect.logWarning(
        `Order ${order.id} paid ${order.netCents} cents for a pack quoted ${purchase.quotedCents}.`
      )
    }
    if (purchase.kind === "plan") yield* updatePlan(deps, accountId, customerId)
  }
  if (booking === "unknown" && order.status === "paid") {
    yield* Effect.logWarning(`Order ${order.id} is paid, but its account ${accountId} no longer exists.`)
  }
  return booking
})

const bringOrder = Effect.fnUntraced(function* (deps: Deps, id: string) {
  const reading = yield* deps.books.nextReading
  const order = yield* unlessMissing(deps.provider.order(id))
  return order === undefined ? ("unknown" as const) : yield* bookOrder(deps, order, reading)
})

const bringCustomer = Effect.fnUntraced(function* (deps: Deps, accountId: string, customerId: string) {
  const { books, provider } = deps
  const reading = yield* books.nextReading
  const orders = yield* provider.ordersOf({ customerId })
  const drifts: Array<Drift> = []
  for (const order of orders) {
    if (order.accountId !== accountId) continue
    if ((yield* books.bookOrder(order, reading)) === "changed") {
      drifts.push({ kind: order.refundedCents > 0 ? "refund" : "order", accountId, objectId: order.id })
    }
  }
  const { booking, live } = yield* updatePlan(deps, accountId, customerId)
  if (booking === "changed") drifts.push({ kind: "subscription", accountId, objectId: live[0] ?? customerId })
  return drifts
})

const bringAccount = Effect.fn("Reconciler.bringAccount")(function* (
  deps: Deps,
  accountId: string
): Effect.fn.Return<ReadonlyArray<Drift>, ProviderUnavailable | NotFound> {
  const account = yield* deps.books.account(accountId)
  if (account === undefined) return yield* noSuchAccount(accountId)
  return account.customerId === undefined ? [] : yield* bringCustomer(deps, accountId, account.customerId)
})

/** Updates the customer that a checkout or an event names, if Quarry created it. */
const bringObject = Effect.fnUntraced(function* (deps: Deps, { id, kind }: InboxItem["object"]) {
  const { books, provider } = deps
  switch (kind) {
    case "subscription":
      return yield* bringSubscription(deps, id)
    case "order":
      return yield* Effect.asVoid(bringOrder(deps, id))
    case "customer": {
      const accountId = yield* books.accountOf(id)
      if (accountId !== undefined) yield* bringCustomer(deps, accountId, id)
      return
    }
    case "checkout": {
      const checkout = yield* provider.checkout(id)
      if (checkout?.accountId === undefined || checkout.customerId === undefined) return
      yield* Effect.asVoid(bringCustomer(deps, checkout.accountId, checkout.customerId))
    }
  }
})

/** Reads the object once for all its deliveries. */
const workOn = Effect.fnUntraced(function* (deps: Deps, items: readonly [InboxItem, ...ReadonlyArray<InboxItem>]) {
  const { books } = deps
  const ids = items.map(({ deliveryId }) => deliveryId)
  const count = (outcome: "done" | "postponed") =>
    Effect.forEach(items, ({ kind }) => Metric.update(billingEvents.of(kind, outcome), 1), { discard: true })
  const postpone = (reason: string) =>
    Effect.andThen(
      books.postponeDeliveries(ids, reason, waitMs(Math.min(...items.map(({ attempts }) => attempts)))),
      count("postponed")
    )
  return yield* bringObject(deps, items[0].object).pipe(
    Effect.andThen(books.finishDeliveries(ids)),
    Effect.andThen(count("done")),
    Effect.as(ids.length),
    Effect.catchTag("ProviderUnavailable", ({ reason }) => Effect.as(postpone(reason), 0)),
    Effect.catchDefect((defect) =>
      Effect.logError(
        "A payment provider delivery could not be processed. It will be retried.",
        Cause.die(defect)
      ).pipe(Effect.andThen(postpone("defect")), Effect.as(0))
    )
  )
})

const drainInbox = Effect.fnUntraced(function* (deps: Deps) {
  const items = yield* deps.books.takeDeliveries(maxDeliveries, leaseMs)
  const byObject = new Map<string, [InboxItem, ...Array<InboxItem>]>()
  for (const item of items) {
    const key = `${item.object.kind} ${item.object.id}`
    const same = byObject.get(key)
    if (same === undefined) byObject.set(key, [item])
    else same.push(item)
  }
  const done = yield* Effect.forEach(byObject.values(), (same) => workOn(deps, same), { concurrency: maxReads })
  return done.reduce((sum, count) => sum + count, 0)
})

const remove = Effect.fnUntraced(function* ({ books, provider }: Deps, { accountId, attempts, customerId }: Removal) {
  return yield* provider.removeCustomer(customerId).pipe(
    Effect.andThen(books.finishRemoval(customerId)),
    Effect.as(true),
    Effect.catchTag("ProviderUnavailable", ({ reason }) =>
      Effect.logWarning(`The customer of ${accountId} could not be removed yet: ${reason}`).pipe(
        Effect.andThen(books.postponeRemoval(customerId, waitMs(attempts))),
        Effect.as(false)
      )
    )
  )
})

const drainRemovals = Effect.fnUntraced(function* (deps: Deps) {
  const removals = yield* deps.books.takeRemovals(maxRemovals, leaseMs)
  const done = yield* Effect.forEach(removals, (removal) => remove(deps, removal))
  return done.filter(Boolean).length
})

/** Void orders with another status in the books. Orders that are not in the books granted nothing. */
const newlyVoid = Effect.fnUntraced(function* ({ books, provider }: Deps) {
  const orders = yield* provider.voidOrders
  return yield* Effect.filter(orders, ({ id }) =>
    Effect.map(books.order(id), (booked) => booked !== undefined && booked.status !== "void")
  )
})

const sweepOrders = Effect.fnUntraced(function* (deps: Deps, since: number, alsoTakenBack: boolean) {
  const { books, clock, provider } = deps
  const now = yield* storeTime(clock)
  const drifts: Array<Drift> = []
  const note = (order: Order, booking: Booking) => {
    if (booking !== "changed" || order.modifiedAt > now - settlingMs) return
    const kind = order.refundedCents > 0 ? "refund" : "order"
    drifts.push({ kind, accountId: order.accountId, objectId: order.id })
  }
  const reading = yield* books.nextReading
  const made = yield* provider.ordersSince(since)
  const listed = alsoTakenBack ? [...made, ...(yield* newlyVoid(deps))] : made
  for (const order of listed) note(order, yield* bookOrder(deps, order, reading))
  const refunded = alsoTakenBack ? yield* provider.refundedSince(since) : []
  const others = new Set([...refunded, ...(yield* books.pendingOrders)])
  for (const { id } of listed) others.delete(id)
  for (const id of others) {
    const again = yield* books.nextReading
    const order = yield* unlessMissing(provider.order(id))
    if (order !== undefined) note(order, yield* bookOrder(deps, order, again))
  }
  return drifts
})

const sweepSubscriptions = Effect.fnUntraced(function* (deps: Deps) {
  const { books, clock, provider } = deps
  const now = yield* storeTime(clock)
  const listed = (yield* provider.openSubscriptions).filter(isSold)
  const booked = new Map((yield* books.openSubscriptions).map((subscription) => [subscription.id, subscription]))
  const drifts: Array<Drift> = []
  const byAccount = new Map<string, ReadonlyArray<Sold>>()
  for (const subscription of listed)
    byAccount.set(subscription.accountId, [...(byAccount.get(subscription.accountId) ?? []), subscription])
  const open = new Set(listed.map(({ id }) => id))
  const gone = [...booked.values()].filter(({ id }) => !open.has(id))
  const differs = (subscription: Sold) => {
    const known = booked.get(subscription.id)
    return known === undefined || !isSameSubscription(known, subscription)
  }
  const bring = Effect.fnUntraced(function* (accountId: string, subscriptions: ReadonlyArray<Sold>, objectId: string) {
    const { booking } = yield* updatePlan(deps, accountId, subscriptions[0]?.customerId)
    const isSettling = subscriptions.some(({ modifiedAt }) => modifiedAt > now - settlingMs)
    if (booking === "changed" && !isSettling) drifts.push({ kind: "subscription", accountId, objectId })
    if (booking === "unknown") drifts.push({ kind: "removal", accountId, objectId })
  })
  for (const [accountId, subscriptions] of byAccount) {
    const first = subscriptions.find(differs) ?? gone.find((subscription) => subscription.accountId === accountId)
    if (first !== undefined) yield* bring(accountId, subscriptions, first.id)
    const [, second] = subscriptions
    if (second !== undefined) drifts.push({ kind: "second_subscription", accountId, objectId: second.id })
  }
  for (const { accountId, id } of gone) if (!byAccount.has(accountId)) yield* bring(accountId, [], id)
  return drifts
})

const sweepDisputes = Effect.fnUntraced(function* ({ books, provider }: Deps) {
  const drifts: Array<Drift> = []
  for (const { orderId, status } of yield* provider.disputes) {
    const order = yield* books.order(orderId)
    if (order === undefined || order.isDisputeLost === (status === "lost")) continue
    yield* books.bookDispute(orderId, status === "lost")
    drifts.push({ kind: "dispute", accountId: order.accountId, objectId: orderId })
  }
  return drifts
})

const report = ({ accountId, kind, objectId }: Drift) =>
  Effect.andThen(
    Metric.update(billingDrift.of(kind), 1),
    kind === "second_subscription"
      ? Effect.logWarning(
          `Account ${accountId} has more than one subscription (${objectId}). The highest plan applies.`
        )
      : Effect.logWarning(
          `The payment provider's ${kind} ${objectId} of ${accountId} differed from the books, which have been corrected.`
        )
  )

const sweep = Effect.fn("Reconciler.sweep")(function* (deps: Deps, extent: SweepExtent, since: number) {
  const now = yield* storeTime(deps.clock)
  const isChanged = extent === "changed"
  const from = isChanged ? since - changedLookBackMs : Math.max(since, now - openLookBackMs) - openLookBackMs
  const orders = yield* sweepOrders(deps, Math.max(from, 0), isChanged)
  const subscriptions = yield* sweepSubscriptions(deps)
  const disputes = isChanged ? yield* sweepDisputes(deps) : []
  const drifts = [...orders, ...subscriptions, ...disputes]
  yield* Effect.forEach(drifts, report, { discard: true })
  return drifts
})

/**
 * Updates the books to match the payment provider (R37). Each function reads its object again and is idempotent, so
 * that deliveries and sweeps can call them in any order.
 */
export class Reconciler extends Context.Service<
  Reconciler,
  {
    /** Also updates the customer's other subscriptions. */
    readonly bringSubscription: (subscriptionId: string) => Effect.Effect<void, ProviderUnavailable>
    /** Grants the credits once, and takes back refunded ones (R38, R40). */
    readonly bringOrder: (orderId: string) => Effect.Effect<void, ProviderUnavailable>
    readonly bringAccount: (accountId: string) => Effect.Effect<ReadonlyArray<Drift>, ProviderUnavailable | NotFound>
    /** Returns the number of deliveries. Any replica may do this. */
    readonly drainInbox: Effect.Effect<number>
    /** Returns the number of customers. */
    readonly drainRemovals: Effect.Effect<number>
    /** Fixes differences between books and provider. `since` is in Unix milliseconds; 0 means everything. */
    readonly sweep: (extent: SweepExtent, since?: number) => Effect.Effect<ReadonlyArray<Drift>, ProviderUnavailable>
  }
>()("quarry/services/billing/Reconciler") {
  static readonly layer = Layer.effect(
    Reconciler,
    Effect.gen(function* () {
      const { grace } = yield* BillingTerms
      const deps: Deps = {
        provider: yield* PaymentProvider,
        books: yield* BillingBooks,
        clock: yield* StoreClock,
        graceMs: Duration.toMillis(grace)
      }
      return Reconciler.of({
        bringSubscription: (id) => bringSubscription(deps, id),
        bringOrder: (id) => Effect.asVoid(bringOrder(deps, id)),
        bringAccount: (accountId) => bringAccount(deps, accountId),
        drainInbox: drainInbox(deps),
        drainRemovals: drainRemovals(deps),
        sweep: (extent, since = 0) => sweep(deps, extent, since)
      })
    })
  )
}
