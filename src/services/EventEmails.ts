import { Context, type Effect } from "effect"
import type { Event } from "../domain/Event.ts"
import type { EmailNotSent } from "./Emails.ts"

/** The page that a link of ours opens, and the address to which mail programs post (RFC 8058). */
export const unsubscribePath = "/v1/webhooks/unsubscribe"

/** Events as emails to accounts, each with a link that stops them. */
export class EventEmails extends Context.Service<
  EventEmails,
  {
    /** False without a mail server. */
    readonly delivers: boolean
    readonly send: (address: string, event: Event) => Effect.Effect<void, EmailNotSent>
    /** The account that a link of ours stops the emails of; undefined for any other text. */
    readonly accountOf: (token: string) => string | undefined
  }
>()("quarry/services/EventEmails") {}
