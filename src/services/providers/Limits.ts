import { Context, Duration } from "effect"
import { UpstreamTimeout } from "../../domain/errors.ts"

export const Limits = Context.Reference<{
  /** Limits all provider attempts of one search together. */
  readonly providerTimeout: Duration.Duration
  /** Limits all rows of one batch together. */
  readonly bulkBudget: Duration.Duration
}>("quarry/references/Limits", {
  defaultValue: () => ({ providerTimeout: Duration.seconds(15), bulkBudget: Duration.seconds(60) })
})

export const providerTimedOut = (providerTimeout: Duration.Duration): UpstreamTimeout =>
  new UpstreamTimeout({ message: `The search provider did not respond within ${Duration.format(providerTimeout)}.` })
