import type { NextTerms } from "../accounts/Account.ts"
import { billingCycle, type Period, type Plan, type TermsTable } from "../credits/Plan.ts"
import { limitsOfPeriod, loweredAt, type PlanHistory, termsAt } from "./PlanHistory.ts"
import { isUpgrade, type PlanStep, type SoldPlan } from "./Purchase.ts"

// Times are Unix milliseconds.

export interface SoldSubscription {
  readonly id: string
  readonly plan: SoldPlan
  /** `trialing` counts as active. `ended`: canceled and over, unpaid, incomplete or paused. */
  readonly status: "active" | "past_due" | "ended"
  readonly period: Period
  readonly startedAt: number
  readonly cancelAtPeriodEnd: boolean
  /** A change that the provider will make at `at`. */
  readonly pending: { readonly plan: SoldPlan; readonly at: number } | undefined
  readonly pastDueAt: number | undefined
  readonly modifiedAt: number
}

export interface PlanOrder {
  readonly plan: SoldPlan
  readonly reason: "create" | "cycle" | "update"
  readonly status: "pending" | "paid" | "void"
  readonly createdAt: number
}

/** A period: its plan when first seen, and later changes that came without an order. */
export interface PeriodSight {
  readonly periodStart: number
  readonly first: SoldPlan
  readonly steps: ReadonlyArray<PlanStep>
}

export interface PlanChange {
  readonly plan: SoldPlan | "trial"
  readonly at: number
}

export interface Entitlement {
  readonly subscription: SoldSubscription
  readonly plan: SoldPlan
  readonly cycleStart: number
  readonly next: PlanChange | undefined
}

export const graceEnd = ({ pastDueAt, period }: SoldSubscription, graceMs: number): number =>
  (pastDueAt ?? period.start) + graceMs

/** Scheduled changes, earliest first. Without a plan, the subscription grants nothing from then on. */
const changesOf = (subscription: SoldSubscription, graceMs: number) => {
  const { cancelAtPeriodEnd, pending, period, status } = subscription
  const changes: Array<{ readonly plan: SoldPlan | undefined; readonly at: number }> = []
  if (status === "past_due") changes.push({ plan: undefined, at: graceEnd(subscription, graceMs) })
  if (cancelAtPeriodEnd) changes.push({ plan: undefined, at: period.end })
  else if (pending !== undefined) changes.push(pending)
  return changes.sort((a, b) => a.at - b.at)
}

const planAt = (subscription: SoldSubscription, graceMs: number, now: number) => {
  if (subscription.status === "ended") return undefined
  const changes = changesOf(subscription, graceMs)
  const due = changes.filter(({ at }) => at <= now)
  if (due.some(({ plan }) => plan === undefined)) return undefined
  return { subscription, plan: due.at(-1)?.plan ?? subscription.plan, next: changes.find(({ at }) => at > now) }
}

/** Prefers the subscription's start, so that the next period can open before the provider reports it (R31). */
export const cycleStartOf = ({ period, startedAt }: SoldSubscription): number => {
  if (startedAt > period.start) return period.start
  const cycle = billingCycle(startedAt, period.start)
  return cycle.start === period.start && cycle.end === period.end ? startedAt : period.start
}

/** The highest plan, or undefined for the trial. Due changes count even before the provider reports them (R41). */
export const entitlementAt = (
  subscriptions: ReadonlyArray<SoldSubscription>,
  graceMs: number,
  now: number
): Entitlement | undefined => {
  const live = subscriptions.flatMap((subscription) => planAt(subscription, graceMs, now) ?? [])
  const [best, ...others] = live.sort(
    (a, b) =>
      Number(isUpgrade(a.plan, b.plan)) - Number(isUpgrade(b.plan, a.plan)) ||
      b.subscription.period.end - a.subscription.period.end ||
      (a.subscription.id < b.subscription.id ? -1 : 1)
  )
  if (best === undefined) return undefined
  const { next, plan, subscription } = best
  const after = next === undefined ? undefined : (next.plan ?? others[0]?.plan ?? "trial")
  return {
    subscription,
    plan,
    cycleStart: cycleStartOf(subscription),
    next: next === undefined || after === undefined ? undefined : { plan: after, at: next.at }
  }
}

/** From paid orders (R39). Changes in the provider's portal have no order, so they get the time of modification. */
export const sightOf = (
  subscription: SoldSubscription,
  orders: ReadonlyArray<PlanOrder>,
  before: PeriodSight | undefined
): { readonly sight: PeriodSight; readonly steps: ReadonlyArray<PlanStep> } => {
  const { period, plan } = subscription
  const seen = before?.periodStart === period.start ? before : undefined
  const within = orders
    .filter(({ createdAt }) => createdAt >= period.start && createdAt < period.end)
    .sort((a, b) => a.createdAt - b.createdAt)
  const first =
    within.findLast(({ reason, status }) => reason !== "update" && status !== "void")?.plan ?? seen?.first ?? plan
  const paid = within
    .filter(({ reason, status }) => reason === "update" && status === "paid")
    .map((order): PlanStep => ({ plan: order.plan, at: order.createdAt }))
  const sight: PeriodSight = { periodStart: period.start, first: seen?.first ?? plan, steps: seen?.steps ?? [] }
  if ((paid.at(-1)?.plan ?? first) === plan) return { sight: { ...sight, first }, steps: paid }
  const isSeen = sight.steps.at(-1)?.plan === plan
  const at = Math.min(Math.max(subscription.modifiedAt, period.start), period.end)
  const unpaid = isSeen ? sight.steps : [...sight.steps, { plan, at }]
  return {
    sight: { ...sight, first, steps: unpaid },
    steps: [...paid, ...unpaid].sort((a, b) => a.at - b.at)
  }
}

export interface BookedSubscription {
  readonly subscription: SoldSubscription
  readonly sight: PeriodSight
}

export interface AccountTerms {
  readonly plan: Plan
  readonly quota: number
  readonly concurrency: number
  readonly cycleStart: number | undefined
  readonly next: NextTerms | undefined
  /** Undefined on the trial. */
  readonly period:
    | (Period & {
        readonly quota: number
        /** Undefined if the period opened by the calendar, before the provider reported it (R31). */
        readonly subscription: SoldSubscription | undefined
      })
    | undefined
}

const ownTerms = (plan: Plan, terms: TermsTable) => ({
  plan,
  quota: terms[plan].quota ?? 0,
  concurrency: terms[plan].concurrency
})

const trialTerms = (terms: TermsTable): AccountTerms => ({
  ...ownTerms("trial", terms),
  cycleStart: undefined,
  next: undefined,
  period: undefined
})

type PeriodLimits = ReturnType<typeof limitsOfPeriod>

const termsOf = (
  { cycleStart, next, plan, subscription }: Entitlement,
  paid: PeriodLimits,
  history: PlanHistory,
  now: number
): AccountTerms => {
  const terms = termsAt(history, now)
  const isRunning = subscription.period.end > now
  const period = isRunning ? subscription.period : billingCycle(cycleStart, now)
  const inPeriod = isRunning ? paid : limitsOfPeriod(history, plan, [], period)
  // A change that the provider makes late does not belong to this period.
  const own = inPeriod.plan === plan ? { plan, ...inPeriod.limits } : ownTerms(plan, terms)
  return {
    ...own,
    cycleStart,
    next: next === undefined ? loweredAt(plan, own, terms, period.end) : { ...ownTerms(next.plan, terms), at: next.at },
    period: { ...period, quota: inPeriod.quota, subscription: isRunning ? subscription : undefined }
  }
}

export const isSameSubscription = (a: SoldSubscription, b: SoldSubscription): boolean =>
  a.plan === b.plan &&
  a.status === b.status &&
  a.period.start === b.period.start &&
  a.period.end === b.period.end &&
  a.startedAt === b.startedAt &&
  a.cancelAtPeriodEnd === b.cancelAtPeriodEnd &&
  a.pending?.plan === b.pending?.plan &&
  a.pending?.at === b.pending?.at &&
  (a.status !== "past_due" || a.pastDueAt === b.pastDueAt)

const isOpen = ({ subscription }: BookedSubscription): boolean => subscription.status !== "ended"

/** A missing subscription has ended. `terms` is undefined if none was open: an operator set the plan, which stays. */
export const readingOf = (
  before: ReadonlyArray<BookedSubscription>,
  reading: ReadonlyArray<SoldSubscription & { readonly orders: ReadonlyArray<PlanOrder> }>,
  { graceMs, history, now }: { readonly graceMs: number; readonly history: PlanHistory; readonly now: number }
): {
  readonly after: ReadonlyArray<BookedSubscription>
  readonly isChanged: boolean
  readonly terms: AccountTerms | undefined
} => {
  const known = new Map(before.map((booked) => [booked.subscription.id, booked]))
  const limits = new Map<string, PeriodLimits>()
  const read = reading.map(({ orders, ...subscription }): BookedSubscription => {
    const { sight, steps } = sightOf(subscription, orders, known.get(subscription.id)?.sight)
    limits.set(subscription.id, limitsOfPeriod(history, sight.first, steps, subscription.period))
    return { subscription, sight }
  })
  const gone = before
    .filter(({ subscription }) => !limits.has(subscription.id))
    .map((booked): BookedSubscription => ({ ...booked, subscription: { ...booked.subscription, status: "ended" } }))
  const after = [...read, ...gone]
  const isChanged = after.some(({ subscription }) => {
    const old = known.get(subscription.id)
    return old === undefined || !isSameSubscription(old.subscription, subscription)
  })
  const entitlement = entitlementAt(
    after.map(({ subscription }) => subscription),
    graceMs,
    now
  )
  const paid = entitlement && limits.get(entitlement.subscription.id)
  if (entitlement === undefined || paid === undefined) {
    return { after, isChanged, terms: before.some(isOpen) ? trialTerms(termsAt(history, now)) : undefined }
  }
  return { after, isChanged, terms: termsOf(entitlement, paid, history, now) }
}
