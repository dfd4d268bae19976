import { Context, type Effect } from "effect"
import type { NotFound } from "../domain/errors.ts"

/**
 * The routes below `/api/auth`, passed through to the sign-in library as they are: JSON for a dashboard, the callbacks of
 * identity providers, and the protocol endpoints of OAuth. The library answers these protocols, so that requests and
 * responses of HTTP cross this interface, and no other one of sign-in.
 */
export class AuthRoutes extends Context.Service<
  AuthRoutes,
  {
    /**
     * Answers a request. Attempts are counted under the client's address or network (`2001:db8::/64`). Fails for routes
     * that are not offered.
     */
    readonly handle: (request: Request, address: string | undefined) => Effect.Effect<Response, NotFound>
  }
>()("quarry/services/AuthRoutes") {}
