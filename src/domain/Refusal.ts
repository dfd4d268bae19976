import { Data } from "effect"

/**
 * The reasons for which a provider gives no answer. An empty result list is an answer and no refusal (R14).
 *
 * - `blocked`: captcha, suspension, access denied to the engine
 * - `quota`: the operator's account with the provider is spent
 * - `rate_limited`: too many requests; `retryAfterMs` where the provider sent it
 * - `unauthorized`: the operator's credential is not accepted
 * - `unreachable`: no connection, a connection that broke, or a server error
 * - `malformed`: an answer that does not match the provider's documentation
 * - `timeout`: no answer within the attempt's time
 * - `unserved`: the provider cannot serve this request
 * - `busy`: nothing was sent, because the operator's limits on calls to the provider leave no turn in time
 */
export const refusalReasons = [
  "blocked",
  "quota",
  "rate_limited",
  "unauthorized",
  "unreachable",
  "malformed",
  "timeout",
  "unserved",
  "busy"
] as const
export type RefusalReason = (typeof refusalReasons)[number]

/** The refusal of an attempt. The message is for logs and holds no secret. */
export class Refusal extends Data.TaggedError("Refusal")<{
  readonly reason: RefusalReason
  readonly message: string
  readonly retryAfterMs?: number | undefined
  /** True where the attempt's deadline passed before the provider answered. */
  readonly isLate?: boolean | undefined
}> {}
