import { Data } from "effect"

/**
 * Why a provider gave no results. "No results" is not among them: that is an answer without results (R14).
 *
 * - `blocked`: captcha, suspension, access denied to the engine
 * - `quota`: the operator's account with the provider is spent
 * - `rate_limited`: too many requests; `retryAfterMs` when the provider said
 * - `unauthorized`: the operator's credential is not accepted
 * - `unreachable`: no connection, a connection that broke, or a server error
 * - `malformed`: an answer that is not what the provider documents
 * - `timeout`: no answer within the attempt's time
 * - `unserved`: the provider cannot serve this request
 * - `busy`: nothing was sent, because the operator's own bounds on calls to the provider leave no turn in time
 */
export type RefusalReason =
  | "blocked"
  | "quota"
  | "rate_limited"
  | "unauthorized"
  | "unreachable"
  | "malformed"
  | "timeout"
  | "unserved"
  | "busy"

/** A provider refused an attempt. The message is for logs and holds no secret. */
export class Refusal extends Data.TaggedError("Refusal")<{
  readonly reason: RefusalReason
  readonly message: string
  readonly retryAfterMs?: number | undefined
  /** Whether the attempt's own time ended before the provider said anything. */
  readonly unanswered?: boolean | undefined
}> {}
