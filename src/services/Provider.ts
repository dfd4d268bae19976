import { Data, type Effect } from "effect"
import type { Capabilities } from "../domain/Capabilities.ts"
import type { UpstreamRow } from "../domain/Organic.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"

/**
 * Why an upstream gave no rows. "No results" is not among them: that is an answer with no rows (R14).
 *
 * - `blocked`: captcha, suspension, access denied to the engine
 * - `quota`: the operator's account with the provider is spent
 * - `rate_limited`: too many requests; `retryAfterMs` when the provider said
 * - `unauthorized`: the operator's credential is refused
 * - `unreachable`: no connection, a connection that broke, or a server error
 * - `malformed`: an answer that is not what the provider documents
 * - `timeout`: no answer within the attempt's share of the time
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

/** An upstream refused. The message is for logs and holds no secret. */
export class Refusal extends Data.TaggedError("Refusal")<{
  readonly reason: RefusalReason
  readonly message: string
  readonly retryAfterMs?: number | undefined
}> {}

/** How long a call may wait for its turn when the operator bounds the calls to a provider and nobody says otherwise. */
export const defaultQueueMs = 1_000

/** One upstream behind one target: a provider with the engine it is asked for. */
export interface Provider {
  /** As in the provider file, with the engine when there is one: `meta/google`. */
  readonly name: string
  /** What it can serve; everything when undefined. */
  readonly capabilities?: Capabilities
  /**
   * The rows of the answered page in rank order: rows `(page - 1) * num + 1` to `page * num` of the upstream's list,
   * or a few more, which ranking cuts (R13). May be empty. Each call may wait `maxQueueMs` for its turn.
   */
  readonly search: (request: SearchRequest, maxQueueMs?: number) => Effect.Effect<ReadonlyArray<UpstreamRow>, Refusal>
}
