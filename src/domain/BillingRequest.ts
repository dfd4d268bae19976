import { Schema } from "effect"
import { decoder } from "./fields.ts"
import { packSizes, soldPlans } from "./Purchase.ts"

/** The bodies of the billing routes (R47). */

const message = "the body must be a JSON object"

const required = { messageMissingKey: "is required" }

export const SoldPlan = Schema.Literals(soldPlans).annotate({
  identifier: "SoldPlan",
  description: "A plan that is sold by checkout",
  message: `must be one of ${soldPlans.join(", ")}`
})

export const PackSize = Schema.Literals(packSizes).annotate({
  identifier: "PackSize",
  description: "Credits of a pack",
  message: `must be one of ${packSizes.join(", ")}`
})

/** The body of `POST /v1/billing/checkout`. */
export const CheckoutRequest = Schema.Struct({ plan: SoldPlan.pipe(Schema.annotateKey(required)) }).annotate({
  identifier: "CheckoutRequest",
  message
})

const moments = ["now", "period_end"] as const

/** The body of `POST /v1/billing/plan`. Without `when`, an upgrade is made now and a downgrade at the period's end (R39). */
export const PlanChange = Schema.Struct({
  plan: SoldPlan.pipe(Schema.annotateKey(required)),
  when: Schema.optionalKey(
    Schema.Literals(moments).annotate({
      description: "When absent: an upgrade now, a downgrade at the period's end. A downgrade is never made now.",
      message: `must be one of ${moments.join(", ")}`
    })
  )
}).annotate({ identifier: "PlanChange", message })

/** The body of `POST /v1/billing/packs`. */
export const PackOrder = Schema.Struct({ credits: PackSize.pipe(Schema.annotateKey(required)) }).annotate({
  identifier: "PackOrder",
  message
})

const notCheckoutId = "must be the checkout_id of the address that the payment page led back to"

/** The body of `POST /v1/billing/sync`. */
export const BillingSync = Schema.Struct({
  checkout_id: Schema.optionalKey(
    Schema.String.annotate({
      description: "From the address that the payment page led back to",
      message: notCheckoutId
    }).check(Schema.isPattern(/^[0-9A-Za-z_-]{1,64}$/, { message: notCheckoutId }))
  )
}).annotate({ identifier: "BillingSync", message })

export const parseCheckoutRequest = decoder(CheckoutRequest)
export const parsePlanChange = decoder(PlanChange)
export const parsePackOrder = decoder(PackOrder)
export const parseBillingSync = decoder(BillingSync)
