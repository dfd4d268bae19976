import { Predicate } from "effect"
import { HttpServerResponse } from "effect/http"
import { resourceQueryOf, scopeChallenge, type ToolScope, toolScopes } from "../domain/accounts/OAuth.ts"
import type { AccountPrincipal } from "../domain/accounts/Principal.ts"
import { requestError, toErrorResponse } from "./message.ts"
import type { Toolbox } from "./Toolbox.ts"

/** The scope of the tool that a message calls. Undefined for other messages and unknown tools. */
const scopeOf = (message: unknown, { byName }: Toolbox): ToolScope | undefined => {
  if (
    !Predicate.isReadonlyObject(message) ||
    message.method !== "tools/call" ||
    !Predicate.isReadonlyObject(message.params)
  )
    return undefined
  const { name } = message.params
  return typeof name === "string" ? byName.get(name)?.scope : undefined
}

/** A 403 with the scopes to ask for. Undefined if the person allowed the app every call in `body`. */
export const missingScope = (
  body: unknown,
  toolbox: Toolbox,
  principal: AccountPrincipal,
  { origin, url }: { readonly origin: string; readonly url: string }
) => {
  if (principal._tag !== "oauth") return undefined
  const messages: ReadonlyArray<unknown> = Array.isArray(body) ? body : [body]
  const needed = messages.flatMap((message) => scopeOf(message, toolbox) ?? [])
  const missing = needed.find((scope) => !principal.scopes.includes(scope))
  if (missing === undefined) return undefined
  // A new token replaces the old one, so the error also names the scopes that the app has.
  const scopes = toolScopes.filter((scope) => principal.scopes.includes(scope) || needed.includes(scope))
  const error = requestError(403, `The app is not allowed to ${missing}. Connect it again and allow it.`)
  return HttpServerResponse.setHeader(
    toErrorResponse(error),
    "www-authenticate",
    scopeChallenge(origin, scopes, resourceQueryOf(url))
  )
}
