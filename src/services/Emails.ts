import { Context, Data, type Effect } from "effect"

/** The mail server did not take an email. `reason` has nothing of the email in it. */
export class EmailNotSent extends Data.TaggedError("EmailNotSent")<{ readonly reason: string }> {}

export interface Email {
  readonly to: string
  readonly subject: string
  /** Plain text. Its link is as good as a password until it expires. */
  readonly text: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Emails to the people behind accounts. */
export class Emails extends Context.Service<
  Emails,
  {
    /** False without a mail server. Addresses need no confirmation then, because nobody would get the link. */
    readonly delivers: boolean
    /** Never fails: an email that cannot be sent is logged, and the person requests another. */
    readonly send: (email: Email) => Effect.Effect<void>
    /** For emails that are tried again. */
    readonly deliver: (email: Email) => Effect.Effect<void, EmailNotSent>
  }
>()("quarry/services/Emails") {}
