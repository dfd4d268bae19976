import { Context, Duration } from "effect"
import { UpstreamTimeout } from "../domain/errors.ts"

/** Bounds on time that an operator can set. */
export const Limits = Context.Reference<{
  /** All attempts of one search at its providers together. */
  readonly providerTimeout: Duration.Duration
  /** All rows of one bulk request together. */
  readonly bulkBudget: Duration.Duration
}>("quarry/services/Limits", {
  defaultValue: () => ({ providerTimeout: Duration.seconds(15), bulkBudget: Duration.seconds(60) })
})

/** The end of a search that spent its providers' time without an answer. */
export const providerTimedOut = (providerTimeout: Duration.Duration): UpstreamTimeout =>
  new UpstreamTimeout({ message: `The search provider did not answer within ${Duration.format(providerTimeout)}.` })
