import { Context, Effect } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import { unauthorized } from "../domain/errors.ts"
import type { AccountPrincipal, Principal } from "../domain/Principal.ts"
import { RateLimited, Unauthorized } from "./errors.ts"

/** Who is calling, once a credential has been accepted. */
export class CurrentPrincipal extends Context.Service<CurrentPrincipal, Principal>()("quarry/http/CurrentPrincipal") {}

/** Who is calling with an account. The demo has none, and is not accepted where one is asked for. */
export const currentAccountPrincipal: Effect.Effect<AccountPrincipal, typeof unauthorized, CurrentPrincipal> =
  Effect.flatMap(CurrentPrincipal, (principal) =>
    principal._tag === "demo" ? Effect.fail(unauthorized) : Effect.succeed(principal)
  )

export const currentAccount = Effect.map(currentAccountPrincipal, ({ account }) => account)

/**
 * Judges the credential that a request presents (R22). Not declared with `security` schemes: those are tried one after
 * the other, so that an invalid credential would fall through to the next. The document names them instead.
 */
export class Authentication extends HttpApiMiddleware.Service<Authentication, { provides: CurrentPrincipal }>()(
  "quarry/http/Authentication",
  { error: Unauthorized }
) {}

/** Counts the request against its credential's rolling minute, before anything of it is decoded (R1). */
export class RateLimiting extends HttpApiMiddleware.Service<RateLimiting, { requires: CurrentPrincipal }>()(
  "quarry/http/RateLimiting",
  { error: RateLimited }
) {}
