import { Context, Effect } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import type { AccountPrincipal, Principal, SessionPrincipal } from "../domain/accounts/Principal.ts"
import { unauthorized } from "../domain/errors.ts"
import { Forbidden, InvalidRequest, RateLimited, Unauthorized } from "./errors.ts"

export class CurrentPrincipal extends Context.Service<CurrentPrincipal, Principal>()("quarry/http/CurrentPrincipal") {}

export const currentAccountPrincipal: Effect.Effect<AccountPrincipal, typeof unauthorized, CurrentPrincipal> =
  Effect.flatMap(CurrentPrincipal, (principal) =>
    principal._tag === "demo" ? Effect.fail(unauthorized) : Effect.succeed(principal)
  )

/** For endpoints that accept only sessions. */
export const currentSession: Effect.Effect<SessionPrincipal, typeof unauthorized, CurrentPrincipal> = Effect.flatMap(
  CurrentPrincipal,
  (principal) => (principal._tag === "session" ? Effect.succeed(principal) : Effect.fail(unauthorized))
)

export const currentAccount = Effect.map(currentAccountPrincipal, ({ account }) => account)

/** Declares no `security` schemes: Effect would try each, and an invalid credential would fall through (R22). */
export class Gates extends HttpApiMiddleware.Service<Gates, { provides: CurrentPrincipal }>()("quarry/http/Gates", {
  error: [RateLimited, Unauthorized, Forbidden]
}) {}

/** Reads the body within its limits, and reports all invalid fields of body or query together (R6). */
export class RequestDecoding extends HttpApiMiddleware.Service<RequestDecoding, { requires: CurrentPrincipal }>()(
  "quarry/http/RequestDecoding",
  { error: [InvalidRequest, RateLimited] }
) {}

/** An absent body counts as an empty object. */
export const BodyIsOptional = Context.Reference<boolean>("quarry/references/BodyIsOptional", {
  defaultValue: () => false
})
