import { Effect, Layer } from "effect"
import { constantHistory } from "../domain/billing/PlanHistory.ts"
import { creditsGranted, creditsTakenBack } from "../domain/billing/Purchase.ts"
import { type AccountTerms, readingOf, type SoldSubscription } from "../domain/billing/Subscription.ts"
import type { PlanTable } from "../domain/credits/Plan.ts"
import { toMoment } from "../domain/requests/fields.ts"
import { BillingBooks, type Booking, type SubscriptionReading } from "../services/billing/BillingBooks.ts"
import type { Order } from "../services/billing/PaymentProvider.ts"
import { Plans } from "../services/credits/Plans.ts"
import * as BillingInboxMemory from "./BillingInboxMemory.ts"
import { addCredits, takeBack } from "./credits.ts"
import { addEvent, noticePeriod, noticePlan } from "./events.ts"
import { atNow, enterPeriod, MemoryStore, type Store, type StoredAccount, type StoredAllowance } from "./MemoryStore.ts"

const billedOf = (store: Store, accountId: string) => {
  const known = store.billing.accounts.get(accountId)
  if (known !== undefined) return known
  const fresh = { customerId: undefined, reading: 0, blockedAt: undefined, askedAt: undefined }
  store.billing.accounts.set(accountId, fresh)
  return store.billing.accounts.get(accountId) ?? fresh
}

const keyOf = (accountId: string, start: number): string => `${accountId} ${start}`

/** The period may have been opened before the provider's notification arrived (R31). */
const movePeriod = (store: Store, accountId: string, period: NonNullable<AccountTerms["period"]>): void => {
  const { allowances } = store
  if (period.subscription === undefined || allowances.has(keyOf(accountId, period.start))) return
  const { startedAt } = period.subscription
  const opened = [...allowances.values()].findLast(
    (allowance) =>
      allowance.scope === accountId &&
      allowance.period !== undefined &&
      allowance.subscriptionId === undefined &&
      allowance.period.start > startedAt &&
      allowance.period.start < period.end &&
      allowance.period.end > period.start
  )
  if (opened?.period === undefined) return
  allowances.delete(keyOf(accountId, opened.period.start))
  opened.period = { start: period.start, end: period.end }
  allowances.set(keyOf(accountId, period.start), opened)
}

const enterPaid = (store: Store, accountId: string, period: NonNullable<AccountTerms["period"]>): StoredAllowance => {
  movePeriod(store, accountId, period)
  const key = keyOf(accountId, period.start)
  const known = store.allowances.get(key)
  const dates = { start: period.start, end: period.end }
  const allowance = known ?? { scope: accountId, period: dates, quota: period.quota, used: 0 }
  allowance.period = dates
  allowance.quota = Math.max(period.quota, allowance.used)
  if (period.subscription !== undefined) allowance.subscriptionId = period.subscription.id
  store.allowances.set(key, allowance)
  return allowance
}

const enterTerms = (store: Store, stored: StoredAccount, terms: AccountTerms, now: number): void => {
  const { agreedConcurrency: _, agreedQuota: __, next: ___, ...kept } = stored.account
  const { concurrency, cycleStart, next, period, plan, quota } = terms
  const before = { plan: stored.account.plan, allowance: stored.allowance }
  stored.account = { ...kept, plan, quota, concurrency, cycleStart, ...(next === undefined ? {} : { next }) }
  noticePlan(store, stored, before.plan, now)
  if (period !== undefined) {
    stored.allowance = enterPaid(store, stored.account.id, period)
    if (stored.allowance !== before.allowance) noticePeriod(store, stored, before.allowance, now)
    return
  }
  stored.allowance = enterPeriod(store, stored.account, now, { quota })
}

const noticePastDue = (store: Store, accountId: string, subscription: SoldSubscription, now: number): void => {
  const { id, modifiedAt, pastDueAt = modifiedAt, period, plan } = subscription
  const data = { plan, past_due_since: toMoment(pastDueAt), current_period_end: toMoment(period.end) }
  addEvent(store, accountId, "payment.past_due", `payment.past_due:${id}:${pastDueAt}`, data, now)
}

const bookSubscriptions = (store: Store, plans: PlanTable, reading: SubscriptionReading, now: number): Booking => {
  const stored = store.accounts.get(reading.accountId)
  if (stored === undefined) return "unknown"
  const billed = billedOf(store, reading.accountId)
  if (billed.reading >= reading.reading) return "outdated"
  const { subscriptions } = store.billing
  const before = [...subscriptions.values()].filter(({ accountId }) => accountId === reading.accountId)
  const { graceMs } = reading
  const found = readingOf(before, reading.subscriptions, { graceMs, history: constantHistory(plans), now })
  for (const booked of found.after) {
    const { id, status } = booked.subscription
    const wasDue = subscriptions.get(id)?.subscription.status === "past_due"
    subscriptions.set(id, { ...booked, accountId: reading.accountId })
    if (status === "past_due" && !wasDue) noticePastDue(store, reading.accountId, booked.subscription, now)
  }
  billed.reading = reading.reading
  const { plan } = stored.account
  if (found.terms === undefined || plan === "custom") return found.isChanged ? "changed" : "unchanged"
  enterTerms(store, stored, found.terms, now)
  return found.isChanged || found.terms.plan !== plan ? "changed" : "unchanged"
}

/** Takes back refunded credits, or returns credits that were taken back in excess (R40). */
const settleOrder = (store: Store, stored: StoredAccount, orderId: string, now: number): void => {
  const booked = store.billing.orders.get(orderId)
  if (booked === undefined) return
  const due = creditsTakenBack(booked.order)
  const difference = due - booked.order.takenBack
  if (difference === 0) return
  booked.changes += 1
  booked.order = { ...booked.order, takenBack: due }
  const cause = `pack-refund:${orderId}:${booked.changes}`
  if (difference > 0) takeBack(store, stored, difference, cause, now)
  else addCredits(store, stored, { credits: -difference, cause, reason: orderId, grantedAt: undefined })
}

const bookOrder = (store: Store, order: Order, reading: number, now: number): Booking => {
  const { accountId, createdAt, id, netCents, purchase, refundedCents, status } = order
  const stored = store.accounts.get(accountId ?? "")
  if (accountId === undefined || stored === undefined || purchase.kind === "other") return "unknown"
  billedOf(store, accountId)
  const known = store.billing.orders.get(id)
  const before = known?.order
  if (before !== undefined && before.accountId !== accountId) return "unknown"
  if (known !== undefined && known.reading >= reading) return "outdated"
  const granted = creditsGranted(before?.granted ?? 0, order)
  const { isDisputeLost = false, takenBack = 0 } = before ?? {}
  const read = { id, accountId, kind: purchase.kind, status, netCents, refundedCents, createdAt }
  const booked = { ...read, granted, takenBack, isDisputeLost }
  store.billing.orders.set(id, { order: booked, reading, changes: known?.changes ?? 0 })
  if (granted > 0 && (before?.granted ?? 0) === 0) {
    addCredits(store, stored, { credits: granted, cause: `pack:${id}`, reason: id, grantedAt: now })
  }
  settleOrder(store, stored, id, now)
  const isSame =
    before !== undefined &&
    before.status === status &&
    before.refundedCents === refundedCents &&
    before.netCents === netCents
  return isSame ? "unchanged" : "changed"
}

const bookDispute = (store: Store, orderId: string, isLost: boolean, now: number): Booking => {
  const booked = store.billing.orders.get(orderId)
  const stored = store.accounts.get(booked?.order.accountId ?? "")
  if (booked === undefined || stored === undefined) return "unknown"
  if (booked.order.isDisputeLost === isLost) return "unchanged"
  booked.order = { ...booked.order, isDisputeLost: isLost }
  const billed = billedOf(store, stored.account.id)
  if (isLost) billed.blockedAt ??= now
  settleOrder(store, stored, orderId, now)
  return "changed"
}

const keepCustomer = (store: Store, accountId: string, customerId: string) => {
  if (!store.accounts.has(accountId)) return "unknown"
  const { accounts, removals } = store.billing
  for (const [id, billed] of accounts) if (billed.customerId === customerId && id !== accountId) return "taken"
  if (removals.has(customerId)) return "leaving"
  const billed = billedOf(store, accountId)
  billed.customerId ??= customerId
  return { customerId: billed.customerId }
}

const reads = (store: Store) => ({
  account: (accountId: string) =>
    Effect.sync(() => {
      const stored = store.accounts.get(accountId)
      if (stored === undefined) return undefined
      const billed = store.billing.accounts.get(accountId)
      return {
        customerId: billed?.customerId,
        blockedAt: billed?.blockedAt,
        subscriptions: [...store.billing.subscriptions.values()]
          .filter((booked) => booked.accountId === accountId)
          .map(({ subscription }) => subscription)
          .sort((a, b) => b.startedAt - a.startedAt || (a.id < b.id ? -1 : 1)),
        balance: stored.balance,
        owed: stored.owed
      }
    }),
  accountOf: (customerId: string) =>
    Effect.sync(() => [...store.billing.accounts].find(([, billed]) => billed.customerId === customerId)?.[0]),
  orders: (accountId: string, limit: number) =>
    Effect.sync(() =>
      [...store.billing.orders.values()]
        .map(({ order }) => order)
        .filter((order) => order.accountId === accountId)
        .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1))
        .slice(0, limit)
    ),
  order: (orderId: string) => Effect.sync(() => store.billing.orders.get(orderId)?.order),
  openSubscriptions: Effect.sync(() =>
    [...store.billing.subscriptions.values()]
      .filter(({ accountId, subscription }) => subscription.status !== "ended" && store.accounts.has(accountId))
      .map(({ accountId, subscription }) => ({ ...subscription, accountId }))
  ),
  pendingOrders: Effect.sync(() =>
    [...store.billing.orders.values()].flatMap(({ order }) => (order.status === "pending" ? [order.id] : []))
  )
})

export const layer: Layer.Layer<BillingBooks, never, MemoryStore | Plans> = Layer.effect(
  BillingBooks,
  Effect.map(Effect.all([MemoryStore, Plans]), ([store, plans]) =>
    BillingBooks.of({
      ...reads(store),
      ...BillingInboxMemory.make(store),
      nextReading: Effect.sync(() => ++store.billing.reading),
      keepCustomer: (accountId, customerId) => Effect.sync(() => keepCustomer(store, accountId, customerId)),
      bookSubscriptions: (reading) => atNow((now) => bookSubscriptions(store, plans, reading, now)),
      bookOrder: (order, reading) => atNow((now) => bookOrder(store, order, reading, now)),
      bookDispute: (orderId, isLost) => atNow((now) => bookDispute(store, orderId, isLost, now)),
      unblock: (accountId) =>
        Effect.sync(() => {
          const billed = store.billing.accounts.get(accountId)
          if (billed?.blockedAt === undefined) return false
          billed.blockedAt = undefined
          return true
        })
    })
  )
)
