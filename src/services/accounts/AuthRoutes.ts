import { Context, type Effect } from "effect"
import type { NotFound } from "../../domain/errors.ts"

/**
 * Routes below `/api/auth`, passed unchanged to the sign-in library: JSON for a dashboard, callbacks of identity
 * providers, and OAuth endpoints. The only sign-in interface that passes HTTP requests and responses through.
 */
export class AuthRoutes extends Context.Service<
  AuthRoutes,
  {
    /** Attempts are counted by the client's address or network (`2001:db8::/64`). Fails for unsupported routes. */
    readonly handle: (request: Request, address: string | undefined) => Effect.Effect<Response, NotFound>
  }
>()("quarry/services/accounts/AuthRoutes") {}
