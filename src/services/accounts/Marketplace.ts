import { Context, type Effect, type Redacted } from "effect"
import type { MarketplacePrincipal } from "../../domain/accounts/Principal.ts"
import type { Unauthorized } from "../../domain/errors.ts"

/** Marketplace subscribers, who call through the marketplace's proxy and are billed there (R23). */
export class Marketplace extends Context.Service<
  Marketplace,
  {
    /** Creates the subscriber's account at the first call. All failures look alike and take the same time. */
    readonly authenticate: (
      secret: Redacted.Redacted,
      user: string
    ) => Effect.Effect<MarketplacePrincipal, Unauthorized>
  }
>()("quarry/services/accounts/Marketplace") {}
