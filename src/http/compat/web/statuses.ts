import type { NotFound } from "../../../domain/errors.ts"
import type { CompatError } from "../CompatError.ts"

/** The API's own statuses, for services whose clients only check whether a status is an error. */
export const statuses: Readonly<Record<(CompatError | NotFound)["_tag"], number>> = {
  invalid_request: 400,
  unsupported_geo: 400,
  unsupported_parameter: 400,
  unauthorized: 401,
  quota_exceeded: 402,
  not_found: 404,
  rate_limited: 429,
  internal_error: 500,
  upstream_error: 502,
  upstream_timeout: 504
}

export const documentedStatuses: ReadonlyArray<number> = [...new Set(Object.values(statuses))].filter(
  (status) => status !== statuses.not_found
)
