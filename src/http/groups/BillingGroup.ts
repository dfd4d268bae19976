import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { payers } from "../../domain/accounts/Role.ts"
import {
  BillingSync,
  CheckoutRequest,
  PackOrder,
  PackSize,
  PlanChange,
  SoldPlan
} from "../../domain/billing/BillingRequest.ts"
import { Plan } from "../../domain/credits/Plan.ts"
import { acceptingSessions } from "../Callers.ts"
import {
  BillingBusy,
  BillingUnavailable,
  InternalError,
  InvalidRequest,
  NoSubscription,
  PaymentFailed,
  PlanUnchanged
} from "../errors.ts"
import { Gates, RequestDecoding } from "../Gates.ts"
import { Moment, momentOrNull } from "../timestamps.ts"

const cents = (description: string) => Schema.Int.annotate({ description: `${description}, in cents` })

const Subscription = Schema.Struct({
  status: Schema.Literals(["active", "past_due"]).annotate({
    description: "past_due: the renewal was not paid. The plan stays until grace_until"
  }),
  plan: SoldPlan,
  current_period_start: Moment,
  current_period_end: Moment,
  cancel_at_period_end: Schema.Boolean.annotate({
    description: "True if it was canceled and runs until the end of the period"
  }),
  pending_plan: Schema.NullOr(SoldPlan).annotate({
    description: "The plan that starts at pending_at; null if no change is pending"
  }),
  pending_at: momentOrNull("Null if no change is pending"),
  past_due_since: momentOrNull("Null if no payment is due"),
  grace_until: momentOrNull("When the plan ends if the renewal is still unpaid; null if no payment is due")
}).annotate({ identifier: "Subscription" })

const PlanOffer = Schema.Struct({
  plan: SoldPlan,
  name: Schema.String.annotate({ description: "Display name" }),
  price: cents("Price of a month"),
  requests: Schema.Int.annotate({ description: "Searches in a month" }),
  concurrency: Schema.Int,
  pack_rate: cents("Price of 1,000 pack credits; 0 if the plan sells no packs")
}).annotate({ identifier: "PlanOffer" })

const PackOffer = Schema.Struct({ credits: PackSize, price: cents("Price of the pack") }).annotate({
  identifier: "PackOffer"
})

export const BillingState = Schema.Struct({
  open: Schema.Boolean.annotate({ description: "False if this deployment sells nothing" }),
  plan: Plan,
  plan_name: Schema.String.annotate({ description: "Display name of the plan" }),
  subscription: Schema.NullOr(Subscription).annotate({ description: "Null if there is none" }),
  plans: Schema.Array(PlanOffer).annotate({ description: "The plans that are sold" }),
  packs: Schema.Array(PackOffer).annotate({
    description: "The packs that the account can buy now; empty if it can buy none"
  }),
  currency: Schema.Literal("usd").annotate({ description: "Of all prices" }),
  balance: Schema.Int.annotate({ description: "Pack credits left" }),
  owed: Schema.Int.annotate({
    description: "Credits of refunded packs that had already been spent; deducted from the next credits granted"
  })
}).annotate({ identifier: "BillingState" })

const page = {
  checkout_url: Schema.String.annotate({ description: "The payment provider's checkout page" }),
  expires_at: Moment
}

export const Checkout = Schema.Struct(page).annotate({ identifier: "Checkout" })

export const PackCheckout = Schema.Struct({ ...page, credits: PackSize, price: cents("Price of the pack") }).annotate({
  identifier: "PackCheckout"
})

export const ChangedPlan = Schema.Struct({
  plan: Plan.annotate({ description: "The plan that applies now" }),
  pending_plan: Schema.NullOr(SoldPlan).annotate({
    description: "The plan that starts at effective_at; null if no change is pending"
  }),
  effective_at: Moment
}).annotate({ identifier: "ChangedPlan" })

export const Portal = Schema.Struct({
  portal_url: Schema.String.annotate({
    description: "The payment provider's page for cards, invoices and cancellation"
  }),
  expires_at: Moment
}).annotate({ identifier: "Portal" })

export class BillingGroup extends HttpApiGroup.make("billing")
  .add(
    HttpApiEndpoint.get("state", "/v1/billing", { success: BillingState, error: InternalError }).annotateMerge(
      OpenApi.annotations({
        identifier: "billing",
        summary: "Subscription, prices and pack credits",
        description: "What the account has bought and can buy, as recorded by this deployment."
      })
    ),
    HttpApiEndpoint.post("checkout", "/v1/billing/checkout", {
      payload: CheckoutRequest,
      success: Checkout.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, PlanUnchanged, BillingUnavailable, InternalError]
    })
      .middleware(RequestDecoding)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "openCheckout",
          summary: "Buy the first subscription",
          description:
            "Returns a checkout page. The plan starts when the payment provider reports the payment. If the account already " +
            "has a subscription, change its plan at /v1/billing/plan."
        })
      ),
    HttpApiEndpoint.post("plan", "/v1/billing/plan", {
      payload: PlanChange,
      success: ChangedPlan,
      error: [
        InvalidRequest,
        NoSubscription,
        PlanUnchanged,
        PaymentFailed,
        BillingBusy,
        BillingUnavailable,
        InternalError
      ]
    })
      .middleware(RequestDecoding)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "changePlan",
          summary: "Change the plan",
          description:
            "An upgrade is charged and starts immediately; the quota of the current period grows in proportion to the amount " +
            "paid. A downgrade starts at the end of the period. Requesting the current plan cancels a pending change or " +
            "cancellation."
        })
      ),
    HttpApiEndpoint.post("packs", "/v1/billing/packs", {
      payload: PackOrder,
      success: PackCheckout.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, NoSubscription, BillingUnavailable, InternalError]
    })
      .middleware(RequestDecoding)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "buyPack",
          summary: "Buy a credit pack",
          description:
            "Returns a checkout page for a single payment. The credits are added when the payment provider reports the " +
            "payment. Requires an active subscription, whose plan sets the price."
        })
      ),
    HttpApiEndpoint.post("portal", "/v1/billing/portal", {
      success: Portal.pipe(HttpApiSchema.status(201)),
      error: [NoSubscription, BillingUnavailable, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "openPortal",
        summary: "Manage cards, invoices and cancellation",
        description: "Returns the account's page at the payment provider."
      })
    ),
    HttpApiEndpoint.post("sync", "/v1/billing/sync", {
      payload: BillingSync,
      success: BillingState,
      error: [InvalidRequest, BillingUnavailable, InternalError]
    })
      .middleware(RequestDecoding)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "syncBilling",
          summary: "Check for new payments",
          description:
            "For the page that people see after paying. Asks the payment provider at most once every 5 seconds; in between, " +
            "returns the recorded state."
        })
      )
  )
  .pipe(
    acceptingSessions({
      state: payers,
      checkout: payers,
      plan: payers,
      packs: payers,
      portal: payers,
      sync: payers
    })
  )
  .middleware(Gates)
  .annotateMerge(
    OpenApi.annotations({ title: "Billing", description: "Purchases of the signed-in account. Prices are in US cents" })
  ) {}
