import { Effect, Layer, Redacted } from "effect"
import { createTransport } from "nodemailer"
import { Emails } from "../../services/Emails.ts"

export interface SmtpOptions {
  /** `smtp://user:password@host:port`, or `smtps://`. */
  readonly url: Redacted.Redacted
  readonly from: string
}

/** For a mail server to be reached, to greet, and to say anything at all. */
const timeoutMs = 10_000

/** Emails over SMTP, each on a connection of its own: they are rare, and an idle one would be found dead. */
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
        Effect.tryPromise(() => transport.sendMail({ from, ...email })).pipe(
          // What the server says may quote the message, and the message holds a link that must not be in the log.
          Effect.catch(() => Effect.logError(`An email was not sent: ${email.subject}. Does SMTP_URL still work?`)),
          Effect.withSpan("Emails.send")
        )
    })
  })
