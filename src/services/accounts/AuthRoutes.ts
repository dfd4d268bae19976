import { Context, type Effect } from "effect"
import type { NotFound } from "../../domain/errors.ts"

/** Routes below `/api/auth`, which pass HTTP unchanged to the sign-in library: JSON, OAuth and provider callbacks. */
export class AuthRoutes extends Context.Service<
  AuthRoutes,
  {
    /** Attempts are counted by the client's address or network (`2001:db8::/64`). Fails for unsupported routes. */
    readonly handle: (request: Request, address: string | undefined) => Effect.Effect<Response, NotFound>
  }
>()("quarry/services/AuthRoutes") {}
