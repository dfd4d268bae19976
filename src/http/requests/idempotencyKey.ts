import { Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { AccountPrincipal, Principal } from "../../domain/accounts/Principal.ts"
import { InvalidRequest, type Issue } from "../../domain/errors.ts"
import { idempotencyHeader, parseIdempotencyKey } from "../../domain/search/IdempotencyKey.ts"

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

const withKeyIssue = (
  request: HttpServerRequest.HttpServerRequest,
  principal: Principal,
  failure: InvalidRequest
): InvalidRequest => {
  const keyed = keyOf(request, principal)
  if (keyed === undefined || Result.isSuccess(keyed)) return failure
  return InvalidRequest.fromIssues([...failure.issues, keyed.failure])
}

export const withKey = <A>(
  request: HttpServerRequest.HttpServerRequest,
  principal: Principal,
  decoded: Result.Result<A, InvalidRequest>
): Result.Result<readonly [A, Keyed | undefined], InvalidRequest> => {
  if (Result.isFailure(decoded)) return Result.fail(withKeyIssue(request, principal, decoded.failure))
  const keyed = keyOf(request, principal)
  if (keyed === undefined) return Result.succeed([decoded.success, undefined])
  return Result.mapBoth(keyed, {
    onSuccess: (keyed) => [decoded.success, keyed] as const,
    onFailure: (issue) => InvalidRequest.fromIssues([issue])
  })
}
