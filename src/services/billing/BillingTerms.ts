import { Context, Duration } from "effect"

export const BillingTerms = Context.Reference<{
  /** Time for which the plan is kept after a renewal was not paid (R41). */
  readonly grace: Duration.Duration
  readonly isOpen: boolean
}>("quarry/services/BillingTerms", { defaultValue: () => ({ grace: Duration.days(3), isOpen: true }) })
