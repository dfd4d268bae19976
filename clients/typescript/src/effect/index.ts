export {
  BillingBusy,
  BillingUnavailable,
  IdempotencyInProgress,
  InternalError,
  InvalidRequest,
  NotFound,
  QuotaExceeded,
  RateLimited,
  Unauthorized,
  UnsupportedGeo,
  UnsupportedParameter,
  UpstreamError,
  UpstreamTimeout
} from "../../../../src/domain/errors.ts"
export { Api } from "../../../../src/http/Api.ts"
export type { ResponseFacts } from "../../../../src/http/errors.ts"
export { QuarryClient, type QuarryClientOptions, withIdempotencyKey } from "./QuarryClient.ts"
