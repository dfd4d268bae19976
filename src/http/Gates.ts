import { Context, Effect } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import type { AccountPrincipal, Principal } from "../domain/accounts/Principal.ts"
import { unauthorized } from "../domain/errors.ts"
import { InvalidRequest, RateLimited, Unauthorized } from "./errors.ts"

/** The authenticated principal, provided by `Gates`. */
export class CurrentPrincipal extends Context.Service<CurrentPrincipal, Principal>()("quarry/http/CurrentPrincipal") {}

/** Requires an account. The demo has none and fails with `unauthorized`. */
export const currentAccountPrincipal: Effect.Effect<AccountPrincipal, typeof unauthorized, CurrentPrincipal> =
  Effect.flatMap(CurrentPrincipal, (principal) =>
    principal._tag === "demo" ? Effect.fail(unauthorized) : Effect.succeed(principal)
  )

export const currentAccount = Effect.map(currentAccountPrincipal, ({ account }) => account)

/**
 * Authenticates the request (R22) and applies the credential's rate limit. Declares no `security` schemes: Effect would
 * try them in turn, and an invalid credential would fall through. `Callers.ts` documents them.
 */
export class Gates extends HttpApiMiddleware.Service<Gates, { provides: CurrentPrincipal }>()("quarry/http/Gates", {
  error: [RateLimited, Unauthorized]
}) {}

/** Returns `invalid_request` with every invalid parameter (R6). */
export class RequestDecoding extends HttpApiMiddleware.Service<RequestDecoding>()("quarry/http/RequestDecoding", {
  error: InvalidRequest
}) {}
