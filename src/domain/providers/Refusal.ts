import { Data } from "effect"

/**
 * Reasons why a provider gave no answer. An empty result list is an answer (R14). `blocked`: a captcha or suspension;
 * `quota`: the operator's account is used up; `busy`: nothing was sent, because the operator's limits left no slot.
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
  /** The provider refused what the caller searched for, so that it does not count towards a cool-down. */
  readonly isOfSearch?: boolean | undefined
}> {}
