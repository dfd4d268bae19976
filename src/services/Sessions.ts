import { Context, type Effect, type Redacted } from "effect"
import type { Unauthorized } from "../domain/errors.ts"
import type { SessionPrincipal } from "../domain/Principal.ts"

/** The sessions of people: the cookie as a credential, and its end. `SignIn` opens them. */
export class Sessions extends Context.Service<
  Sessions,
  {
    /** Name of the session cookie: with the prefix `__Secure-` where clients use https. */
    readonly cookieName: string
    /**
     * Authenticates the value of a session cookie, percent-encoded or not. Unknown, expired, forged and ended sessions
     * fail alike. A session that ends at one replica fails at once at every replica.
     */
    readonly authenticate: (cookie: Redacted.Redacted) => Effect.Effect<SessionPrincipal, Unauthorized>
    /** Removes the person behind an account: sessions, identities and address. */
    readonly forget: (accountId: string) => Effect.Effect<void>
  }
>()("quarry/services/Sessions") {}
