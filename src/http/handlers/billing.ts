import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { currency, soldPlans } from "../../domain/billing/Purchase.ts"
import type { PlanTable } from "../../domain/credits/Plan.ts"
import { TrustedProxies } from "../../services/accounts/TrustedProxies.ts"
import {
  Billing,
  type BillingState,
  type CheckoutPage,
  type SubscriptionState
} from "../../services/billing/Billing.ts"
import { Plans } from "../../services/credits/Plans.ts"
import { Api } from "../Api.ts"
import { currentAccount } from "../Gates.ts"
import type * as wire from "../groups/BillingGroup.ts"
import { clientIp } from "../middleware/clientAddress.ts"
import { withRetryAfter } from "../responses/retryAfter.ts"

const offersOf = (plans: PlanTable) =>
  soldPlans.map((plan) => {
    const { concurrency, name, packCentsPer1000, priceCents, quota = 0 } = plans[plan]
    return { plan, name, price: priceCents, requests: quota, concurrency, pack_rate: packCentsPer1000 }
  })

const toSubscription = (state: SubscriptionState) => ({
  status: state.status,
  plan: state.plan,
  current_period_start: state.periodStart,
  current_period_end: state.periodEnd,
  cancel_at_period_end: state.cancelAtPeriodEnd,
  pending_plan: state.pendingPlan ?? null,
  pending_at: state.pendingAt ?? null,
  past_due_since: state.pastDueSince ?? null,
  grace_until: state.graceUntil ?? null
})

const toState = (
  plans: PlanTable,
  { balance, open, owed, packs, plan, subscription }: BillingState
): typeof wire.BillingState.Type => ({
  open,
  plan,
  plan_name: plans[plan].name,
  subscription: subscription === undefined ? null : toSubscription(subscription),
  plans: offersOf(plans),
  packs,
  currency,
  balance,
  owed
})

const toCheckout = ({ expiresAt, url }: CheckoutPage) => ({ checkout_url: url, expires_at: expiresAt })

export const layer = HttpApiBuilder.group(
  Api,
  "billing",
  Effect.fn(function* (handlers) {
    const billing = yield* Billing
    const plans = yield* Plans
    const currentIp = Effect.provideService(clientIp, TrustedProxies, yield* TrustedProxies)

    return handlers.handleAll({
      state: Effect.fnUntraced(function* () {
        return toState(plans, yield* billing.state(yield* currentAccount))
      }),
      checkout: Effect.fnUntraced(function* ({ payload }) {
        return toCheckout(yield* billing.checkout(yield* currentAccount, payload.plan, yield* currentIp))
      }, withRetryAfter),
      plan: Effect.fnUntraced(function* ({ payload }) {
        const changed = yield* billing.changePlan(yield* currentAccount, payload.plan, payload.when)
        return {
          plan: changed.plan,
          pending_plan: changed.pendingPlan ?? null,
          effective_at: changed.effectiveAt
        }
      }, withRetryAfter),
      packs: Effect.fnUntraced(function* ({ payload }) {
        const page = yield* billing.buyPack(yield* currentAccount, payload.credits, yield* currentIp)
        return { ...toCheckout(page), credits: page.credits, price: page.price }
      }, withRetryAfter),
      portal: Effect.fnUntraced(function* () {
        const { expiresAt, url } = yield* billing.portal(yield* currentAccount)
        return { portal_url: url, expires_at: expiresAt }
      }, withRetryAfter),
      sync: Effect.fnUntraced(function* ({ payload }) {
        return toState(plans, yield* billing.sync(yield* currentAccount, payload.checkout_id))
      }, withRetryAfter)
    })
  })
)
