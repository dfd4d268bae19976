import { Context, type Effect } from "effect"
import type { Event } from "../../domain/webhooks/Event.ts"
import type { EmailNotSent } from "../accounts/Emails.ts"

/** The unsubscribe page, which is also the URL that mail programs post to (RFC 8058). */
export const unsubscribePath = "/v1/webhooks/unsubscribe"

/** Each email has an unsubscribe link. */
export class EventEmails extends Context.Service<
  EventEmails,
  {
    /** False without a mail server. */
    readonly delivers: boolean
    readonly send: (address: string, event: Event) => Effect.Effect<void, EmailNotSent>
    /** The account of an unsubscribe token; undefined if the token is invalid. */
    readonly accountOf: (token: string) => string | undefined
  }
>()("quarry/services/webhooks/EventEmails") {}
