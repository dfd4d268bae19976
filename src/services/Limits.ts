import { Context, Duration } from "effect"
import { UpstreamTimeout } from "../domain/errors.ts"

/** Time limits that an operator can set. */
export const Limits = Context.Reference<{
  /** The longest time of all attempts of one search together. */
  readonly providerTimeout: Duration.Duration
  /** The longest time of all rows of one batch together. */
  readonly bulkBudget: Duration.Duration
}>("quarry/services/Limits", {
  defaultValue: () => ({ providerTimeout: Duration.seconds(15), bulkBudget: Duration.seconds(60) })
})

/** The error of a search without an answer at its deadline. */
export const providerTimedOut = (providerTimeout: Duration.Duration): UpstreamTimeout =>
  new UpstreamTimeout({ message: `The search provider did not answer within ${Duration.format(providerTimeout)}.` })
