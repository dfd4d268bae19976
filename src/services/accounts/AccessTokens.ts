import { Context, type Effect, type Redacted } from "effect"
import type { AppPrincipal } from "../../domain/accounts/Principal.ts"
import type { Unauthorized } from "../../domain/errors.ts"

/** Access tokens of apps that act for people (OAuth 2.1). */
export class AccessTokens extends Context.Service<
  AccessTokens,
  {
    /**
     * Authenticates an access token. All invalid tokens fail alike, including those for another resource. A revocation
     * takes effect on every replica at once.
     */
    readonly authenticate: (token: Redacted.Redacted) => Effect.Effect<AppPrincipal, Unauthorized>
  }
>()("quarry/services/AccessTokens") {}
