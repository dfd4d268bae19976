import { Context, type Effect, type Redacted } from "effect"
import type { Unauthorized } from "../domain/errors.ts"
import type { AppPrincipal } from "../domain/Principal.ts"

/** The access tokens of apps that act for people (OAuth 2.1). */
export class AccessTokens extends Context.Service<
  AccessTokens,
  {
    /**
     * Authenticates an access token. Unknown, expired and revoked tokens fail alike, and so do those of another
     * resource. A token that is revoked at one replica fails at once at every replica.
     */
    readonly authenticate: (token: Redacted.Redacted) => Effect.Effect<AppPrincipal, Unauthorized>
  }
>()("quarry/services/AccessTokens") {}
