import { Context, type Effect, type Redacted } from "effect"
import type { Unauthorized } from "../domain/errors.ts"
import type { MarketplacePrincipal } from "../domain/Principal.ts"

/** Subscribers of a marketplace. They call through its proxy, and are metered and billed there (R23). */
export class Marketplace extends Context.Service<
  Marketplace,
  {
    /**
     * Authenticates the subscriber of a call by the proxy's secret. A subscriber's first call makes an account. A wrong
     * secret, an invalid name, and a deployment without a secret or a plan fail alike, and after the same time.
     */
    readonly authenticate: (
      secret: Redacted.Redacted,
      user: string
    ) => Effect.Effect<MarketplacePrincipal, Unauthorized>
  }
>()("quarry/services/Marketplace") {}
