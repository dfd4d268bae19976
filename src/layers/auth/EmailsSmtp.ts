import { Duration, Effect, Layer, Predicate, Redacted } from "effect"
import { createTransport } from "nodemailer"
import { type Email, EmailNotSent, Emails } from "../../services/Emails.ts"
import * as Connection from "../outgoing/Connection.ts"

export interface SmtpOptions {
  /** `smtp://user:password@host:port`, or `smtps://`. */
  readonly url: Redacted.Redacted
  readonly from: string
  readonly timeout?: Duration.Duration | undefined
}

/** For the connection to a mail server, for its greeting, and for its silence after that. */
const silenceMs = 10_000

/** For one email. Without it, a server that sends a line from time to time keeps an email for ever. */
const defaultTimeout = Duration.seconds(30)

/** One reply of a mail server, of all its lines. */
const maxReplyBytes = 64 * 1024

/** Everything that a mail server sends for one email, with TLS. */
const maxReceivedBytes = 256 * 1024

/** The time for a mail server to close its side of the connection. */
const closeMs = 1_000

/** The code of a failure, such as EAUTH. Its message may quote the email, whose link must not be in the log. */
const codeOf = (error: unknown): string =>
  Predicate.hasProperty(error, "code") ? String(error.code) : "no reason given"

/** Emails over SMTP. Each opens a connection: emails are rare, and servers close idle connections. */
export const layer = ({ from, timeout = defaultTimeout, url }: SmtpOptions): Layer.Layer<Emails> =>
  Layer.sync(Emails, () => {
    const limits = { maxReceivedBytes, connectTimeoutMs: Math.min(silenceMs, Duration.toMillis(timeout)) }
    const transport = createTransport({
      url: Redacted.value(url),
      connectionTimeout: silenceMs,
      greetingTimeout: silenceMs,
      socketTimeout: silenceMs,
      socketCloseTimeout: closeMs,
      maxResponseSize: maxReplyBytes,
      getSocket: ({ host = "localhost", port, secure }, opened) => {
        // The library starts TLS itself, at once or by STARTTLS. These are the ports that it would take.
        const to = { host, port: Number(port) || (secure === true ? 465 : 587), isSecure: false }
        Connection.open(to, limits, (error, socket) =>
          socket === undefined ? opened(error, false) : opened(null, { connection: socket })
        )
      }
    })
    const late = new EmailNotSent({ reason: `it was not taken within ${Duration.format(timeout)}` })
    const deliver = (email: Email) =>
      Effect.tryPromise({
        try: (signal) => transport.sendMail({ from, ...email, signal }),
        catch: (error) => new EmailNotSent({ reason: codeOf(error) })
      }).pipe(
        Effect.timeoutOrElse({ duration: timeout, orElse: () => Effect.fail(late) }),
        Effect.asVoid,
        Effect.withSpan("Emails.send")
      )
    return Emails.of({
      delivers: true,
      deliver,
      send: (email) =>
        Effect.catch(deliver(email), ({ reason }) =>
          Effect.logError(`An email was not sent (${reason}): ${email.subject}`)
        )
    })
  })
