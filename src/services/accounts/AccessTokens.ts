import { Context, type Effect, type Redacted } from "effect"
import type { AppPrincipal } from "../../domain/accounts/Principal.ts"
import type { Unauthorized } from "../../domain/errors.ts"

/** Apps act for people (OAuth 2.1). */
export class AccessTokens extends Context.Service<
  AccessTokens,
  {
    /**
     * All invalid tokens fail alike, even those for another resource. A revocation takes effect on every replica at
     * once.
     */
    readonly authenticate: (token: Redacted.Redacted) => Effect.Effect<AppPrincipal, Unauthorized>
  }
>()("quarry/services/accounts/AccessTokens") {}
