import type * as domain from "../../domain/errors.ts"
import {
  InternalError,
  InvalidRequest,
  QuotaExceeded,
  RateLimited,
  Unauthorized,
  UnsupportedGeo,
  UnsupportedParameter,
  UpstreamError,
  UpstreamTimeout
} from "../errors.ts"

/** Everything that a request to an endpoint in another service's shape may end with. */
export type CompatError =
  | domain.InvalidRequest
  | domain.UnsupportedGeo
  | domain.UnsupportedParameter
  | domain.Unauthorized
  | domain.RateLimited
  | domain.QuotaExceeded
  | domain.UpstreamError
  | domain.UpstreamTimeout
  | domain.InternalError

/** The API's own envelope, for services whose clients read no form of error. */
export const ownErrors = [
  InvalidRequest,
  UnsupportedGeo,
  UnsupportedParameter,
  Unauthorized,
  QuotaExceeded,
  RateLimited,
  InternalError,
  UpstreamError,
  UpstreamTimeout
] as const
