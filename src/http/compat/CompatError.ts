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

/** The API's envelope, for services whose clients do not parse errors. */
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
