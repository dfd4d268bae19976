import { Context, type Duration } from "effect"

export class BillingTerms extends Context.Service<
  BillingTerms,
  {
    /** Time for which the plan is kept after a renewal was not paid (R41). */
    readonly grace: Duration.Duration
    /** False if the operator closed the checkout. Existing purchases stay valid. */
    readonly isOpen: boolean
  }
>()("quarry/services/billing/BillingTerms") {}
