import { Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { InvalidRequest, type Issue } from "../domain/errors.ts"
import { idempotencyHeader, parseIdempotencyKey } from "../domain/IdempotencyKey.ts"
import type { AccountPrincipal, Principal } from "../domain/Principal.ts"

/** The account that pays and the idempotency key of a request. */
export interface Keyed {
  readonly principal: AccountPrincipal
  readonly key: string
}

const headerName = idempotencyHeader.toLowerCase()

/** The key that a request was sent with; undefined without one. The demo has no account and so no keys (R44). */
const keyOf = (
  { headers }: HttpServerRequest.HttpServerRequest,
  principal: Principal
): Result.Result<Keyed, Issue> | undefined => {
  const header = headers[headerName]
  if (header === undefined || principal._tag === "demo") return undefined
  return Result.map(parseIdempotencyKey(header), (key) => ({ principal, key }))
}

/** The failures of a request that cannot be decoded, with that of its key (R6). */
const withKeyIssue = (
  request: HttpServerRequest.HttpServerRequest,
  principal: Principal,
  failure: InvalidRequest
): InvalidRequest => {
  const keyed = keyOf(request, principal)
  if (keyed === undefined || Result.isSuccess(keyed)) return failure
  return InvalidRequest.fromIssues([...failure.issues, keyed.failure])
}

/** A decoded request with its key. */
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
