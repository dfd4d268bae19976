import { Data } from "effect"

/**
 * Reasons why a provider gave no answer. An empty result list is an answer (R14).
 *
 * - `blocked`: captcha, suspension, or access denied to the engine
 * - `quota`: the operator's account with the provider is used up
 * - `unauthorized`: the operator's credential is invalid
 * - `unreachable`: connection failure or server error
 * - `malformed`: the response does not match the provider's documentation
 * - `unserved`: the provider does not support this request
 * - `busy`: nothing was sent, because the operator's call limits left no slot in time
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

/** The message is for logs and contains no secrets. */
export class Refusal extends Data.TaggedError("Refusal")<{
  readonly reason: RefusalReason
  readonly message: string
  readonly retryAfterMs?: number | undefined
  readonly isLate?: boolean | undefined
}> {}
