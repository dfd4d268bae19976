import { Effect, Layer, Predicate, Redacted } from "effect"
import { createTransport } from "nodemailer"
import { Emails } from "../../services/Emails.ts"

export interface SmtpOptions {
  /** `smtp://user:password@host:port`, or `smtps://`. */
  readonly url: Redacted.Redacted
  readonly from: string
}

/** For a mail server to be reached, to greet, and to say anything at all. */
const timeoutMs = 10_000

/** Such as EAUTH. What a server says beside it may quote the message, whose link must not be in the log. */
const codeOf = (error: unknown): unknown => (Predicate.hasProperty(error, "code") ? error.code : "no reason given")

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
        Effect.tryPromise({ try: () => transport.sendMail({ from, ...email }), catch: codeOf }).pipe(
          Effect.catch((code) => Effect.logError(`An email was not sent (${code}): ${email.subject}`)),
          Effect.withSpan("Emails.send")
        )
    })
  })
