import { Context, type Effect, type Redacted } from "effect"
import type { AppPrincipal } from "../../domain/accounts/Principal.ts"
import type { Unauthorized } from "../../domain/errors.ts"

export class AccessTokens extends Context.Service<
  AccessTokens,
  {
    /** Invalid tokens fail alike, even for another resource. A revocation takes effect on all replicas at once. */
    readonly authenticate: (token: Redacted.Redacted) => Effect.Effect<AppPrincipal, Unauthorized>
  }
>()("quarry/services/AccessTokens") {}
