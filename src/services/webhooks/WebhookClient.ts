import { Context, Data, type Effect, type Redacted } from "effect"

/** The body is not read. */
export interface WebhookAnswer {
  readonly status: number
  /** From `Retry-After`; 0 if absent. */
  readonly retryAfterMs: number
}

/** No response. `reason` is only for the operator, because it distinguishes open ports from closed ones. */
export class WebhookUnreachable extends Data.TaggedError("WebhookUnreachable")<{ readonly reason: string }> {}

/**
 * The message for every disallowed host. It does not reveal if the name exists or what it resolves to, because the
 * operator's name servers may know internal names.
 */
export const hostClosed = "must have a host with only public IP addresses"

/** Customers may not make this service connect to the address. */
export class AddressClosed extends Data.TaggedError("AddressClosed")<{
  readonly reason: string
  readonly shown: string
}> {}

export interface WebhookPost {
  readonly url: string
  /** The same for every attempt, so that receivers can detect duplicates. */
  readonly id: string
  /** Unix seconds of this attempt, signed with the body. */
  readonly timestamp: number
  readonly body: string
  /** One signature per secret; two during a rotation. */
  readonly secrets: ReadonlyArray<Redacted.Redacted>
}

export class WebhookClient extends Context.Service<
  WebhookClient,
  {
    /** Fails if nothing may be sent to the address. Does not connect. */
    readonly check: (url: string) => Effect.Effect<void, AddressClosed>
    /** Resolves the name once and connects only to public addresses. Does not follow redirects. */
    readonly post: (post: WebhookPost) => Effect.Effect<WebhookAnswer, AddressClosed | WebhookUnreachable>
  }
>()("quarry/services/webhooks/WebhookClient") {}
