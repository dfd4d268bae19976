import { Context, type Effect, type Redacted } from "effect"
import type { NotFound, Unauthorized } from "../domain/errors.ts"
import type { SessionPrincipal } from "../domain/Principal.ts"

/** Where people may sign in beside a password. */
export type IdentityProvider = "google" | "github"

/** Sign-in and its sessions. Which library does it is the layer's business. */
export class Sessions extends Context.Service<
  Sessions,
  {
    /** Name of the session cookie: with the prefix `__Secure-` where clients use https. */
    readonly cookieName: string
    /** Those that this deployment is known to. */
    readonly providers: ReadonlyArray<IdentityProvider>
    /**
     * Who a session cookie's value belongs to, percent-encoded or not. Unknown, expired, forged and ended sessions fail
     * alike, and an ended one at once on every replica.
     */
    readonly authenticate: (cookie: Redacted.Redacted) => Effect.Effect<SessionPrincipal, Unauthorized>
    /**
     * Answers a request to `/api/auth/*`. Attempts are counted under the client's address or network (`2001:db8::/64`).
     * Fails for what is not offered there.
     */
    readonly handle: (request: Request, client: string | undefined) => Effect.Effect<Response, NotFound>
    /** Removes the person behind an account: sessions, sign-ins and address. */
    readonly forget: (accountId: string) => Effect.Effect<void>
  }
>()("quarry/services/Sessions") {}
