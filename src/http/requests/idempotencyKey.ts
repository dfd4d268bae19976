import { Effect, Result } from "effect"
import { HttpServerRequest } from "effect/http"
import type { AccountPrincipal, Principal } from "../../domain/accounts/Principal.ts"
import { InvalidRequest, type Issue } from "../../domain/errors.ts"
import { idempotencyHeader, parseIdempotencyKey } from "../../domain/search/IdempotencyKey.ts"
import { CurrentPrincipal } from "../Gates.ts"

export interface Keyed {
  readonly principal: AccountPrincipal
  readonly key: string
}

const headerName = idempotencyHeader.toLowerCase()

/** Undefined without a key. The demo has no account and so no keys (R44). */
const keyOf = (
  { headers }: HttpServerRequest.HttpServerRequest,
  principal: Principal
): Result.Result<Keyed, Issue> | undefined => {
  const header = headers[headerName]
  if (header === undefined || principal._tag === "demo") return undefined
  return Result.map(parseIdempotencyKey(header), (key) => ({ principal, key }))
}

const currentKey = Effect.map(
  Effect.all([HttpServerRequest.HttpServerRequest, CurrentPrincipal]),
  ([request, principal]) => keyOf(request, principal)
)

/** The request's key, or undefined. */
export const idempotencyKey: Effect.Effect<
  Keyed | undefined,
  InvalidRequest,
  HttpServerRequest.HttpServerRequest | CurrentPrincipal
> = Effect.flatMap(currentKey, (keyed) => {
  if (keyed === undefined) return Effect.undefined
  return Effect.fromResult(Result.mapError(keyed, (issue) => InvalidRequest.fromIssues([issue])))
})

/** Adds the issue of an invalid key to those of other fields. */
export const withKeyIssue = (
  failure: InvalidRequest
): Effect.Effect<InvalidRequest, never, HttpServerRequest.HttpServerRequest | CurrentPrincipal> =>
  Effect.map(currentKey, (keyed) =>
    keyed === undefined || Result.isSuccess(keyed)
      ? failure
      : InvalidRequest.fromIssues([...failure.issues, keyed.failure])
  )
