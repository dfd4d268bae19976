import { Context, Data, type Effect, type Redacted } from "effect"

/** The answer of an endpoint. Its body is not read. */
export interface WebhookAnswer {
  readonly status: number
  /** From `Retry-After`; 0 where it has none. */
  readonly retryAfterMs: number
}

/** No answer. `reason` is for the operator alone: it tells open ports from closed ones. */
export class WebhookUnreachable extends Data.TaggedError("WebhookUnreachable")<{ readonly reason: string }> {}

/**
 * The message for every host that a webhook cannot have. It does not say whether the name exists or what it resolves to,
 * because the operator's name servers may also know names of the operator's own network.
 */
export const hostClosed = "must have a host whose addresses are all on the public internet"

/** The address leads where a customer may not make this service connect. */
export class AddressClosed extends Data.TaggedError("AddressClosed")<{
  /** For the operator. */
  readonly reason: string
  /** For the account. */
  readonly shown: string
}> {}

export interface WebhookPost {
  readonly url: string
  /** The same in every attempt, so that a receiver knows an event that it has. */
  readonly id: string
  /** Unix seconds of this attempt, which are signed with the body. */
  readonly timestamp: number
  readonly body: string
  /** Each makes a signature: two while a secret is replaced. */
  readonly secrets: ReadonlyArray<Redacted.Redacted>
}

/** The door through which requests to customers' addresses leave. */
export class WebhookClient extends Context.Service<
  WebhookClient,
  {
    /** Fails for an address to which nothing would be sent now. It connects nowhere. */
    readonly check: (url: string) => Effect.Effect<void, AddressClosed>
    /** Resolves the name once, and connects to what it found, if all of that is public. Follows no redirect. */
    readonly post: (post: WebhookPost) => Effect.Effect<WebhookAnswer, AddressClosed | WebhookUnreachable>
  }
>()("quarry/services/WebhookClient") {}
