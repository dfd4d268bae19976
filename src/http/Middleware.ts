import { Context, Effect } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import { unauthorized } from "../domain/errors.ts"
import type { AccountPrincipal, Principal } from "../domain/Principal.ts"
import { InvalidRequest, RateLimited, Unauthorized } from "./errors.ts"

/** The principal of the request, provided by `Authentication`. */
export class CurrentPrincipal extends Context.Service<CurrentPrincipal, Principal>()("quarry/http/CurrentPrincipal") {}

/** The principal of an endpoint that needs an account. The demo has none and fails with `unauthorized`. */
export const currentAccountPrincipal: Effect.Effect<AccountPrincipal, typeof unauthorized, CurrentPrincipal> =
  Effect.flatMap(CurrentPrincipal, (principal) =>
    principal._tag === "demo" ? Effect.fail(unauthorized) : Effect.succeed(principal)
  )

export const currentAccount = Effect.map(currentAccountPrincipal, ({ account }) => account)

/**
 * Authenticates the request (R22). It declares no `security` schemes, because Effect tries those one after the other:
 * an invalid credential would fall through to the next. `Callers.ts` adds them to the document.
 */
export class Authentication extends HttpApiMiddleware.Service<Authentication, { provides: CurrentPrincipal }>()(
  "quarry/http/Authentication",
  { error: Unauthorized }
) {}

/** Counts the request in the rolling minute of its credential, before query and body are decoded (R1). */
export class RateLimiting extends HttpApiMiddleware.Service<RateLimiting, { requires: CurrentPrincipal }>()(
  "quarry/http/RateLimiting",
  { error: RateLimited }
) {}

/** Answers `invalid_request` when parameters do not fit the endpoint's schema, with every failure of theirs (R6). */
export class RequestDecoding extends HttpApiMiddleware.Service<RequestDecoding>()("quarry/http/RequestDecoding", {
  error: InvalidRequest
}) {}
