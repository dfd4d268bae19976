import { Context, type Effect, type Redacted } from "effect"
import type { Unauthorized } from "../domain/errors.ts"
import type { AppPrincipal } from "../domain/Principal.ts"

/** The tokens of apps that a person let in by OAuth. */
export class AccessTokens extends Context.Service<
  AccessTokens,
  {
    /**
     * Who an app acts for. Unknown, expired and revoked tokens, and those of another audience, fail alike, and one that
     * was ended fails at once on every replica.
     */
    readonly authenticate: (token: Redacted.Redacted) => Effect.Effect<AppPrincipal, Unauthorized>
  }
>()("quarry/services/AccessTokens") {}
