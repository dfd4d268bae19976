import { Context, Duration } from "effect"

export const BillingTerms = Context.Reference<{
  /** Time for which the plan is kept after a renewal was not paid (R41). */
  readonly grace: Duration.Duration
  /** False if the operator closed the checkout. Existing purchases stay valid. */
  readonly isOpen: boolean
}>("quarry/services/billing/BillingTerms", { defaultValue: () => ({ grace: Duration.days(3), isOpen: true }) })
