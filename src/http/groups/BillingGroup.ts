import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  BillingSync,
  CheckoutRequest,
  PackOrder,
  PackSize,
  PlanChange,
  SoldPlan
} from "../../domain/billing/BillingRequest.ts"
import { Plan } from "../../domain/credits/Plan.ts"
import { accepting } from "../Callers.ts"
import {
  BillingBusy,
  BillingUnavailable,
  InternalError,
  InvalidRequest,
  NoSubscription,
  PaymentFailed,
  PlanUnchanged
} from "../errors.ts"
import { Gates } from "../Gates.ts"
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
    description: "True when it was canceled and runs to the period's end"
  }),
  pending_plan: Schema.NullOr(SoldPlan).annotate({ description: "The plan that begins at pending_at; null for none" }),
  pending_at: momentOrNull("Null where no change is pending"),
  past_due_since: momentOrNull("Null where nothing is due"),
  grace_until: momentOrNull("The end of the plan if the renewal is not paid by then; null where nothing is due")
}).annotate({ identifier: "Subscription" })

const PlanOffer = Schema.Struct({
  plan: SoldPlan,
  name: Schema.String.annotate({ description: "The name for people" }),
  price: cents("Price of a month"),
  requests: Schema.Int.annotate({ description: "Searches in a month" }),
  concurrency: Schema.Int,
  pack_rate: cents("Price of 1,000 pack credits; 0 where the plan sells no packs")
}).annotate({ identifier: "PlanOffer" })

const PackOffer = Schema.Struct({ credits: PackSize, price: cents("Price of the pack") }).annotate({
  identifier: "PackOffer"
})

export const BillingState = Schema.Struct({
  open: Schema.Boolean.annotate({ description: "False where nothing can be bought on this deployment" }),
  plan: Plan,
  plan_name: Schema.String.annotate({ description: "The plan's name for people" }),
  subscription: Schema.NullOr(Subscription).annotate({ description: "Null where there is none" }),
  plans: Schema.Array(PlanOffer).annotate({ description: "The plans that are sold" }),
  packs: Schema.Array(PackOffer).annotate({ description: "The packs that the account can buy now; empty for none" }),
  currency: Schema.Literal("usd").annotate({ description: "Of all prices" }),
  balance: Schema.Int.annotate({ description: "Pack credits left" }),
  owed: Schema.Int.annotate({
    description: "Credits of refunded packs that were spent already; taken from the next credits that are granted"
  })
}).annotate({ identifier: "BillingState" })

const page = {
  checkout_url: Schema.String.annotate({ description: "The payment provider's page, on which the person pays" }),
  expires_at: Moment
}

export const Checkout = Schema.Struct(page).annotate({ identifier: "Checkout" })

export const PackCheckout = Schema.Struct({ ...page, credits: PackSize, price: cents("Price of the pack") }).annotate({
  identifier: "PackCheckout"
})

export const ChangedPlan = Schema.Struct({
  plan: Plan.annotate({ description: "The plan that applies now" }),
  pending_plan: Schema.NullOr(SoldPlan).annotate({
    description: "The plan that begins at effective_at; null for none"
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
        description: "What the account has bought and what it can buy. Asks nobody else."
      })
    )
  )
  .add(
    HttpApiEndpoint.post("checkout", "/v1/billing/checkout", {
      payload: CheckoutRequest,
      success: Checkout.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, PlanUnchanged, BillingUnavailable, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "openCheckout",
        summary: "Buy the first subscription",
        description:
          "Answers a page on which the person pays. The plan begins when the payment provider reports it paid. An account " +
          "with a subscription changes its plan at /v1/billing/plan."
      })
    )
  )
  .add(
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
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "changePlan",
        summary: "Change the plan",
        description:
          "An upgrade is paid and begins at once; the running period's quota grows in the proportion that was paid. A " +
          "downgrade begins at the period's end. Asking for the present plan calls off a pending change or cancellation."
      })
    )
  )
  .add(
    HttpApiEndpoint.post("packs", "/v1/billing/packs", {
      payload: PackOrder,
      success: PackCheckout.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, NoSubscription, BillingUnavailable, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "buyPack",
        summary: "Buy a credit pack",
        description:
          "Answers a page on which the person pays, once. The credits are added when the payment provider reports it paid. " +
          "It takes an active subscription, whose plan gives the price."
      })
    )
  )
  .add(
    HttpApiEndpoint.post("portal", "/v1/billing/portal", {
      success: Portal.pipe(HttpApiSchema.status(201)),
      error: [NoSubscription, BillingUnavailable, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "openPortal",
        summary: "Manage cards, invoices and cancellation",
        description: "Answers a page of the payment provider for the account's person."
      })
    )
  )
  .add(
    HttpApiEndpoint.post("sync", "/v1/billing/sync", {
      payload: BillingSync,
      success: BillingState,
      error: [InvalidRequest, BillingUnavailable, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "syncBilling",
        summary: "Ask the payment provider what was paid",
        description:
          "For the page that people see after they paid. Asks at most once in 5 seconds; in between it answers what is known."
      })
    )
  )
  .annotateEndpointsMerge(accepting("session"))
  .middleware(Gates)
  .annotateMerge(
    OpenApi.annotations({ title: "Billing", description: "What the signed-in account buys. Prices are in US cents" })
  ) {}
