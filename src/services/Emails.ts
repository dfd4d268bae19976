import { Context, type Effect } from "effect"

export interface Email {
  readonly to: string
  readonly subject: string
  /** Plain text. Its link is as good as a password until it expires. */
  readonly text: string
}

/** Emails to the people behind accounts. */
export class Emails extends Context.Service<
  Emails,
  {
    /** False without a mail server. Addresses need no confirmation then, because nobody would get the link. */
    readonly delivers: boolean
    /** Never fails: an email that cannot be sent is logged, and the person requests another. */
    readonly send: (email: Email) => Effect.Effect<void>
  }
>()("quarry/services/Emails") {}
