import { Context, Duration, Effect, Layer, Metric } from "effect"
import { type Account, accountAt } from "../../domain/accounts/Account.ts"
import { isUpgrade, type PackSize, packPrice, packSizes, type SoldPlan } from "../../domain/billing/Purchase.ts"
import { graceEnd, type SoldSubscription } from "../../domain/billing/Subscription.ts"
import type { Plan, PlanTable } from "../../domain/credits/Plan.ts"
import {
  BillingBusy,
  BillingUnavailable,
  InvalidRequest,
  NoSubscription,
  PaymentFailed,
  PlanUnchanged
} from "../../domain/errors.ts"
import { Accounts } from "../accounts/Accounts.ts"
import { Plans } from "../credits/Plans.ts"
import { Ids } from "../Ids.ts"
import { StoreClock, storeTime } from "../StoreClock.ts"
import { billingEvents } from "../telemetry/Metrics.ts"
import { type BilledAccount, BillingBooks } from "./BillingBooks.ts"
import { BillingTerms } from "./BillingTerms.ts"
import {
  type DeliveryInvalid,
  type Page,
  PaymentProvider,
  type ProviderBusy,
  type ProviderDeclined,
  type ProviderMissing,
  type ProviderUnavailable
} from "./PaymentProvider.ts"
import { Reconciler } from "./Reconciler.ts"

/** Times are Unix milliseconds. */
export interface SubscriptionState {
  readonly status: "active" | "past_due"
  readonly plan: SoldPlan
  readonly periodStart: number
  readonly periodEnd: number
  readonly cancelAtPeriodEnd: boolean
  readonly pendingPlan: SoldPlan | undefined
  readonly pendingAt: number | undefined
  readonly pastDueSince: number | undefined
  /** End of the grace period. Afterwards the trial's limits apply until the renewal is paid (R41). */
  readonly graceUntil: number | undefined
}

export interface BillingState {
  /** False if nothing can be bought: there is no provider, or the operator has closed the checkout. */
  readonly open: boolean
  readonly plan: Plan
  readonly subscription: SubscriptionState | undefined
  readonly packs: ReadonlyArray<{ readonly credits: PackSize; readonly price: number }>
  readonly balance: number
  /** Spent credits of refunded packs, settled from the next credits (R40). */
  readonly owed: number
}

export interface CheckoutPage {
  readonly url: string
  readonly expiresAt: number
}

const syncEveryMs = 5_000
/** Used if the provider gives none. */
const defaultRetrySeconds = 30

interface Deps {
  readonly provider: PaymentProvider["Service"]
  readonly books: BillingBooks["Service"]
  readonly accounts: Accounts["Service"]
  readonly reconciler: Reconciler["Service"]
  readonly ids: Ids["Service"]
  readonly clock: StoreClock["Service"]
  readonly terms: (typeof BillingTerms)["Service"]
  readonly plans: PlanTable
}

const unreachable = ({ reason, retryAfter }: ProviderUnavailable) =>
  Effect.andThen(
    Effect.logWarning(`The payment provider could not be reached: ${reason}`),
    Effect.fail(
      new BillingUnavailable({
        message: "The payment provider cannot be reached at the moment. What you bought is not affected.",
        retryAfterSeconds: retryAfter === undefined ? defaultRetrySeconds : Math.ceil(Duration.toSeconds(retryAfter))
      })
    )
  )

const closed = new BillingUnavailable({ message: "Nothing can be bought here at the moment." })
const needsOperator = new BillingUnavailable({ message: "This account cannot make purchases. Contact the operator." })
const customPlan = new BillingUnavailable({
  message: "The operator sets this account's plan. Ask the operator to change it."
})
const noPacks = new BillingUnavailable({ message: "This account's plan sells no credit packs." })
const noSubscription = new NoSubscription({ message: "There is no active subscription. Subscribe to a plan first." })
const pastDue = new NoSubscription({
  message: "The last renewal is unpaid. Update the card in the billing portal."
})
const unchanged = new PlanUnchanged({ message: "The account is already on this plan, and no change is pending." })

const readBilled = ({ books }: Pick<Deps, "books">, { id }: Account): Effect.Effect<BilledAccount> =>
  Effect.flatMap(books.account(id), (found) =>
    found === undefined ? Effect.die(new Error(`account ${id} does not exist`)) : Effect.succeed(found)
  )

const openSubscription = ({ subscriptions }: BilledAccount): SoldSubscription | undefined =>
  subscriptions
    .filter(({ status }) => status !== "ended")
    .sort((a, b) => Number(isUpgrade(a.plan, b.plan)) - Number(isUpgrade(b.plan, a.plan)))[0]

const stateOf = (subscription: SoldSubscription, graceMs: number): SubscriptionState => ({
  status: subscription.status === "past_due" ? "past_due" : "active",
  plan: subscription.plan,
  periodStart: subscription.period.start,
  periodEnd: subscription.period.end,
  cancelAtPeriodEnd: subscription.cancelAtPeriodEnd,
  pendingPlan: subscription.pending?.plan,
  pendingAt: subscription.pending?.at,
  pastDueSince: subscription.status === "past_due" ? (subscription.pastDueAt ?? subscription.period.start) : undefined,
  graceUntil: subscription.status === "past_due" ? graceEnd(subscription, graceMs) : undefined
})

const isSold = (plan: Plan): plan is SoldPlan => plan !== "trial" && plan !== "custom"

/** Cents per 1,000 credits. Undefined if the account cannot buy packs now. */
const packRateOf = (
  plans: PlanTable,
  { packRate, plan }: Account,
  subscription: SoldSubscription | undefined
): number | undefined => {
  const rate = plans[plan].packCentsPer1000 || undefined
  if (plan === "custom") return packRate ?? rate
  return subscription?.status === "active" && isSold(plan) ? rate : undefined
}

type BooksDeps = Pick<Deps, "accounts" | "books" | "clock" | "terms" | "plans">

/** An account's payments in the books, even if nothing is sold anymore (R42). */
export const bookedState = (deps: BooksDeps) =>
  Effect.fn("Billing.state")(function* (given: Account): Effect.fn.Return<BillingState> {
    const { clock, terms } = deps
    // Reads the account again, because a change may have been recorded since the caller was authenticated.
    const stored = yield* Effect.orElseSucceed(deps.accounts.byId(given.id), () => given)
    const account = accountAt(stored, yield* storeTime(clock))
    const found = yield* readBilled(deps, account)
    const subscription = openSubscription(found)
    const isOpen = terms.isOpen && found.blockedAt === undefined
    const rate = isOpen ? packRateOf(deps.plans, account, subscription) : undefined
    return {
      open: isOpen,
      plan: account.plan,
      subscription: subscription === undefined ? undefined : stateOf(subscription, Duration.toMillis(terms.grace)),
      packs: rate === undefined ? [] : packSizes.map((credits) => ({ credits, price: packPrice(credits, rate) })),
      balance: found.balance,
      owed: found.owed
    }
  })

const requireOpen = ({ terms }: Deps, { blockedAt }: BilledAccount) =>
  !terms.isOpen ? Effect.fail(closed) : blockedAt === undefined ? Effect.void : Effect.fail(needsOperator)

/** The account's customer at the provider, created at the first purchase (R42). */
const customerOf = Effect.fnUntraced(function* (
  { accounts, books, provider }: Deps,
  account: Account,
  { customerId }: BilledAccount
) {
  if (customerId !== undefined) return customerId
  const isGone = (id: string) =>
    accounts.byId(id).pipe(
      Effect.as(false),
      Effect.catchTag("not_found", () => Effect.succeed(true))
    )
  const taken = (id: string) =>
    Effect.andThen(
      Effect.logError(
        `Customer ${id} of the payment provider has the address of ${account.id} but belongs to another account.`
      ),
      Effect.fail(needsOperator)
    )
  const made = yield* provider
    .customerOf(account.id, account.email, isGone)
    .pipe(Effect.catchTags({ CustomerTaken: (error) => taken(error.customerId), ProviderUnavailable: unreachable }))
  const kept = yield* books.keepCustomer(account.id, made)
  if (typeof kept !== "string") return kept.customerId
  if (kept === "taken") return yield* taken(made)
  return yield* new BillingUnavailable({
    message: "An earlier account with this address is being removed. Try again soon.",
    retryAfterSeconds: defaultRetrySeconds
  })
})

const toCheckout = ({ expiresAt, url }: Page): CheckoutPage => ({ url, expiresAt })

const checkout = (deps: Deps): Billing["Service"]["checkout"] =>
  Effect.fn("Billing.checkout")(function* (account, plan, address) {
    const found = yield* readBilled(deps, account)
    const subscription = openSubscription(found)
    if (subscription !== undefined && subscription.plan !== plan) {
      const message = "cannot be bought in addition to the current subscription; change it with POST /v1/billing/plan"
      return yield* InvalidRequest.fromIssues([{ field: "plan", message }])
    }
    yield* requireOpen(deps, found)
    if (account.plan === "custom") return yield* customPlan
    if (subscription !== undefined) return yield* unchanged
    const customerId = yield* customerOf(deps, account, found)
    const buyer = { accountId: account.id, email: account.email, customerId, address }
    return toCheckout(
      yield* deps.provider.openPlanCheckout(buyer, plan).pipe(Effect.catchTag("ProviderUnavailable", unreachable))
    )
  })

const buyPack = (deps: Deps): Billing["Service"]["buyPack"] =>
  Effect.fn("Billing.buyPack")(function* (account, credits, address) {
    const found = yield* readBilled(deps, account)
    yield* requireOpen(deps, found)
    const subscription = openSubscription(found)
    const rate = packRateOf(deps.plans, account, subscription)
    if (rate === undefined) {
      if (account.plan === "custom") return yield* customPlan
      if (subscription?.status === "active" && isSold(account.plan)) return yield* noPacks
      return yield* subscription?.status === "past_due" ? pastDue : noSubscription
    }
    const customerId = yield* customerOf(deps, account, found)
    const price = packPrice(credits, rate)
    const buyer = { accountId: account.id, email: account.email, customerId, address }
    const page = yield* deps.provider
      .openPackCheckout(buyer, { credits, cents: price })
      .pipe(Effect.catchTag("ProviderUnavailable", unreachable))
    return { ...toCheckout(page), credits, price }
  })

/** Schedules a reading of the subscription, because the result of the request is unknown. */
const readSoon = Effect.fnUntraced(function* ({ books, ids }: Deps, subscriptionId: string) {
  const deliveryId = `own:${yield* ids.requestId}`
  const object = { kind: "subscription" as const, id: subscriptionId }
  yield* books.store({ deliveryId, kind: "quarry.plan_change", object, attempts: 0 })
})

const translateErrors = <A>(
  deps: Deps,
  subscriptionId: string,
  change: Effect.Effect<A, ProviderUnavailable | ProviderDeclined | ProviderBusy | ProviderMissing>
) =>
  change.pipe(
    Effect.catchTags({
      ProviderUnavailable: (error) => Effect.andThen(readSoon(deps, subscriptionId), unreachable(error)),
      ProviderDeclined: () =>
        Effect.fail(new PaymentFailed({ message: "The payment was declined, and the plan has not changed." })),
      ProviderBusy: () =>
        Effect.fail(
          new BillingBusy({ message: "Another change to the subscription is in progress.", retryAfterSeconds: 1 })
        ),
      ProviderMissing: () => Effect.andThen(readSoon(deps, subscriptionId), Effect.fail(noSubscription))
    })
  )

/** Reverts pending changes. The provider fails to revert a change that does not exist, so both are read first (R42). */
const callOff = Effect.fnUntraced(function* ({ provider }: Deps, id: string) {
  const { cancelAtPeriodEnd, pending } = yield* provider.subscription(id)
  if (pending !== undefined) yield* provider.callOffChange(id)
  if (cancelAtPeriodEnd) yield* provider.setCancellation(id, false)
})

/**
 * Changes the plan of a subscription. The provider rejects this for a subscription canceled at the period's end, so the
 * cancellation is reverted first. If the change fails, it is canceled again: nobody agreed to keep paying for the old
 * plan (R42).
 */
const changeTo = Effect.fnUntraced(function* (
  { provider }: Deps,
  id: string,
  plan: SoldPlan,
  when: "now" | "period_end"
) {
  const { cancelAtPeriodEnd } = yield* provider.subscription(id)
  const change = provider.changePlan(id, plan, when)
  if (!cancelAtPeriodEnd) return yield* change
  yield* provider.setCancellation(id, false)
  return yield* Effect.tapError(change, () => provider.setCancellation(id, true))
})

const changePlan = (deps: Deps): Billing["Service"]["changePlan"] =>
  Effect.fn("Billing.changePlan")(function* (account, plan, when) {
    const found = yield* readBilled(deps, account)
    const subscription = openSubscription(found)
    const isUp = subscription !== undefined && isUpgrade(subscription.plan, plan)
    if (subscription !== undefined && subscription.plan !== plan && !isUp && when === "now") {
      const message = "must be period_end: a downgrade takes effect at the period's end"
      return yield* InvalidRequest.fromIssues([{ field: "when", message }])
    }
    yield* requireOpen(deps, found)
    if (subscription === undefined) return yield* noSubscription
    if (subscription.status !== "active") return yield* pastDue
    const { id } = subscription
    if (subscription.plan === plan) {
      if (subscription.pending === undefined && !subscription.cancelAtPeriodEnd) return yield* unchanged
      yield* translateErrors(deps, id, callOff(deps, id))
    } else {
      yield* translateErrors(deps, id, changeTo(deps, id, plan, when ?? (isUp ? "now" : "period_end")))
    }
    // The change succeeded. If it cannot be read back now, the inbox reads it soon.
    yield* deps.reconciler.bringSubscription(id).pipe(Effect.catchTag("ProviderUnavailable", () => readSoon(deps, id)))
    const after = openSubscription(yield* readBilled(deps, account))
    const now = yield* storeTime(deps.clock)
    return { plan: after?.plan ?? plan, pendingPlan: after?.pending?.plan, effectiveAt: after?.pending?.at ?? now }
  })

const portal = (deps: Deps): Billing["Service"]["portal"] =>
  Effect.fn("Billing.portal")(function* (account) {
    const { customerId } = yield* readBilled(deps, account)
    if (customerId === undefined) return yield* noSubscription
    return toCheckout(
      yield* deps.provider.openPortal(customerId).pipe(Effect.catchTag("ProviderUnavailable", unreachable))
    )
  })

const sync = (deps: Deps): Billing["Service"]["sync"] =>
  Effect.fn("Billing.sync")(function* (account, checkoutId) {
    const { books, provider, reconciler } = deps
    if (yield* books.takeTurn(account.id, syncEveryMs)) {
      yield* Effect.gen(function* () {
        const page = checkoutId === undefined ? undefined : yield* provider.checkout(checkoutId)
        // The checkout ID comes from the caller and may belong to another account.
        if (page?.accountId === account.id && page.customerId !== undefined) {
          yield* books.keepCustomer(account.id, page.customerId)
        }
        yield* reconciler.bringAccount(account.id)
      }).pipe(Effect.catchTags({ ProviderUnavailable: unreachable, not_found: () => Effect.void }))
    }
    return yield* bookedState(deps)(account)
  })

const receive = (deps: Deps): Billing["Service"]["receive"] =>
  Effect.fn("Billing.receive")(function* (headers, body) {
    const { books, provider } = deps
    const { deliveryId, kind, object } = yield* provider
      .verify(headers, body)
      .pipe(Effect.tapError(() => Metric.update(billingEvents.of("none", "refused"), 1)))
    if (object.kind === "none") return yield* Metric.update(billingEvents.of(kind, "ignored"), 1)
    const isNew = yield* books.store({ deliveryId, kind, object, attempts: 0 })
    yield* Metric.update(billingEvents.of(kind, isNew ? "stored" : "repeated"), 1)
  })

/**
 * Purchases and plan changes of an account (R42, R47). Checks our own books first and asks the provider last. Never
 * changes credits itself: the reconciler does that according to the provider's objects.
 */
export class Billing extends Context.Service<
  Billing,
  {
    readonly state: (account: Account) => Effect.Effect<BillingState>
    readonly checkout: (
      account: Account,
      plan: SoldPlan,
      address: string | undefined
    ) => Effect.Effect<CheckoutPage, BillingUnavailable | PlanUnchanged | InvalidRequest>
    /** Upgrades immediately, or downgrades at the end of the period (R39). */
    readonly changePlan: (
      account: Account,
      plan: SoldPlan,
      when: "now" | "period_end" | undefined
    ) => Effect.Effect<
      { readonly plan: Plan; readonly pendingPlan: SoldPlan | undefined; readonly effectiveAt: number },
      BillingUnavailable | NoSubscription | PlanUnchanged | InvalidRequest | PaymentFailed | BillingBusy
    >
    readonly buyPack: (
      account: Account,
      credits: PackSize,
      address: string | undefined
    ) => Effect.Effect<
      CheckoutPage & { readonly credits: PackSize; readonly price: number },
      BillingUnavailable | NoSubscription
    >
    readonly portal: (account: Account) => Effect.Effect<CheckoutPage, BillingUnavailable | NoSubscription>
    /**
     * Updates the books from the provider and returns them. Asks the provider at most once every 5 seconds per account.
     * `checkoutId` is the checkout that the user returns from.
     */
    readonly sync: (account: Account, checkoutId: string | undefined) => Effect.Effect<BillingState, BillingUnavailable>
    /** Only verifies and stores; the inbox is processed later. An invalid delivery is counted. */
    readonly receive: (
      headers: Readonly<Record<string, string | undefined>>,
      body: Uint8Array
    ) => Effect.Effect<void, BillingUnavailable | DeliveryInvalid>
  }
>()("quarry/services/billing/Billing") {
  static readonly layer = Layer.effect(
    Billing,
    Effect.gen(function* () {
      const deps: Deps = {
        provider: yield* PaymentProvider,
        books: yield* BillingBooks,
        accounts: yield* Accounts,
        reconciler: yield* Reconciler,
        ids: yield* Ids,
        clock: yield* StoreClock,
        terms: yield* BillingTerms,
        plans: yield* Plans
      }
      return Billing.of({
        state: bookedState(deps),
        checkout: checkout(deps),
        changePlan: changePlan(deps),
        buyPack: buyPack(deps),
        portal: portal(deps),
        sync: sync(deps),
        receive: receive(deps)
      })
    })
  )
}
