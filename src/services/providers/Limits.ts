import { Context, Duration } from "effect"
import { UpstreamTimeout } from "../../domain/errors.ts"

export class Limits extends Context.Service<
  Limits,
  {
    /** Limits all provider attempts of one search together. */
    readonly providerTimeout: Duration.Duration
    /** Limits all rows of one batch together. */
    readonly bulkBudget: Duration.Duration
  }
>()("quarry/services/providers/Limits") {}

export const providerTimedOut = (providerTimeout: Duration.Duration): UpstreamTimeout =>
  new UpstreamTimeout({ message: `The search provider did not respond within ${Duration.format(providerTimeout)}.` })
