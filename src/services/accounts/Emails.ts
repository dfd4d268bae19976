import { Context, Data, type Effect } from "effect"

/** The mail server did not accept an email. `reason` contains nothing from the email. */
export class EmailNotSent extends Data.TaggedError("EmailNotSent")<{ readonly reason: string }> {}

export interface Email {
  readonly to: string
  readonly subject: string
  /** Plain text. It may contain a link that is as powerful as a password until it expires. */
  readonly text: string
  /** The same content for mail programs that show HTML. */
  readonly html?: string
  readonly headers?: Readonly<Record<string, string>>
}

export class Emails extends Context.Service<
  Emails,
  {
    /** False without a mail server. Addresses then need no confirmation, because the link would not arrive. */
    readonly delivers: boolean
    /** Never fails: an unsent email is logged, and the person can request another. */
    readonly send: (email: Email) => Effect.Effect<void>
    /** Fails if the email was not accepted, so that the caller can retry. */
    readonly deliver: (email: Email) => Effect.Effect<void, EmailNotSent>
  }
>()("quarry/services/accounts/Emails") {}
