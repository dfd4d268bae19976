import { Schema } from "effect"
import { packSizes, soldPlans } from "./Purchase.ts"

const message = "the body must be a JSON object"

const required = { messageMissingKey: "is required" }

export const SoldPlan = Schema.Literals(soldPlans).annotate({
  identifier: "SoldPlan",
  description: "A plan that can be purchased",
  message: `must be one of ${soldPlans.join(", ")}`
})

export const PackSize = Schema.Literals(packSizes).annotate({
  identifier: "PackSize",
  description: "Number of credits in a pack",
  message: `must be one of ${packSizes.join(", ")}`
})

export const CheckoutRequest = Schema.Struct({ plan: SoldPlan.pipe(Schema.annotateKey(required)) }).annotate({
  identifier: "CheckoutRequest",
  message
})

const moments = ["now", "period_end"] as const

/** Without `when`, an upgrade takes effect immediately and a downgrade at the end of the period (R39). */
export const PlanChange = Schema.Struct({
  plan: SoldPlan.pipe(Schema.annotateKey(required)),
  when: Schema.optionalKey(
    Schema.Literals(moments).annotate({
      description:
        "When absent, an upgrade takes effect now and a downgrade at the period's end. Downgrades do not support now.",
      message: `must be one of ${moments.join(", ")}`
    })
  )
}).annotate({ identifier: "PlanChange", message })

export const PackOrder = Schema.Struct({ credits: PackSize.pipe(Schema.annotateKey(required)) }).annotate({
  identifier: "PackOrder",
  message
})

const notCheckoutId = "must be the checkout_id from the URL that the payment page redirected to"

export const BillingSync = Schema.Struct({
  checkout_id: Schema.optionalKey(
    Schema.String.annotate({
      description: "From the URL that the payment page redirected to",
      message: notCheckoutId
    }).check(Schema.isPattern(/^[0-9A-Za-z_-]{1,64}$/, { message: notCheckoutId }))
  )
}).annotate({ identifier: "BillingSync", message })
