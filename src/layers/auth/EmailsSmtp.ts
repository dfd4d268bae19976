import { Effect, Layer, Predicate, Redacted } from "effect"
import { createTransport } from "nodemailer"
import { Emails } from "../../services/Emails.ts"

export interface SmtpOptions {
  /** `smtp://user:password@host:port`, or `smtps://`. */
  readonly url: Redacted.Redacted
  readonly from: string
}

/** For the connection to a mail server, for its greeting, and for its silence after that. */
const timeoutMs = 10_000

/** The code of a failure, such as EAUTH. Its message may quote the email, whose link must not be in the log. */
const codeOf = (error: unknown): unknown => (Predicate.hasProperty(error, "code") ? error.code : "no reason given")

/** Emails over SMTP. Each opens a connection: emails are rare, and servers close idle connections. */
export const layer = ({ from, url }: SmtpOptions): Layer.Layer<Emails> =>
  Layer.sync(Emails, () => {
    const transport = createTransport({
      url: Redacted.value(url),
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs
    })
    return Emails.of({
      delivers: true,
      send: (email) =>
        Effect.tryPromise({ try: () => transport.sendMail({ from, ...email }), catch: codeOf }).pipe(
          Effect.catch((code) => Effect.logError(`An email was not sent (${code}): ${email.subject}`)),
          Effect.withSpan("Emails.send")
        )
    })
  })
