import { Context, type Effect, type Redacted } from "effect"
import type { Unauthorized } from "../domain/errors.ts"
import type { MarketplacePrincipal } from "../domain/Principal.ts"

/** Subscribers of a marketplace, who come through its proxy and are metered and billed there (R23). */
export class Marketplace extends Context.Service<
  Marketplace,
  {
    /**
     * The subscriber that the proxy calls for. Each gets an account of its own on first sight. A wrong secret, a name
     * that cannot be one, and a deployment without a secret or a plan for subscribers fail alike; how long it takes
     * tells nothing about the secret.
     */
    readonly authenticate: (
      secret: Redacted.Redacted,
      user: string
    ) => Effect.Effect<MarketplacePrincipal, Unauthorized>
  }
>()("quarry/services/Marketplace") {}
