import { Context, Duration } from "effect"

/** The operator's terms of payment. */
export const BillingTerms = Context.Reference<{
  /** Time after a renewal was not paid in which the plan stays as it was (R41). */
  readonly grace: Duration.Duration
  /** False where the operator has closed the checkout: what was bought stays, and nothing new is sold. */
  readonly isOpen: boolean
}>("quarry/services/BillingTerms", { defaultValue: () => ({ grace: Duration.days(3), isOpen: true }) })
