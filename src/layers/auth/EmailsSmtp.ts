import { Effect, Layer, Predicate, Redacted } from "effect"
import { createTransport } from "nodemailer"
import { type Email, EmailNotSent, Emails } from "../../services/Emails.ts"

export interface SmtpOptions {
  /** `smtp://user:password@host:port`, or `smtps://`. */
  readonly url: Redacted.Redacted
  readonly from: string
}

/** For the connection to a mail server, for its greeting, and for its silence after that. */
const timeoutMs = 10_000

/** The code of a failure, such as EAUTH. Its message may quote the email, whose link must not be in the log. */
const codeOf = (error: unknown): string =>
  Predicate.hasProperty(error, "code") ? String(error.code) : "no reason given"

/** Emails over SMTP. Each opens a connection: emails are rare, and servers close idle connections. */
export const layer = ({ from, url }: SmtpOptions): Layer.Layer<Emails> =>
  Layer.sync(Emails, () => {
    const transport = createTransport({
      url: Redacted.value(url),
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs
    })
    const deliver = (email: Email) =>
      Effect.tryPromise({
        try: () => transport.sendMail({ from, ...email }),
        catch: (error) => new EmailNotSent({ reason: codeOf(error) })
      }).pipe(Effect.asVoid, Effect.withSpan("Emails.send"))
    return Emails.of({
      delivers: true,
      deliver,
      send: (email) =>
        Effect.catch(deliver(email), ({ reason }) =>
          Effect.logError(`An email was not sent (${reason}): ${email.subject}`)
        )
    })
  })
