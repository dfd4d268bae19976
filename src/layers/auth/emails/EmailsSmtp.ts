import { Duration, Effect, Layer, Redacted } from "effect"
import { createTransport } from "nodemailer"
import { type Email, EmailNotSent, Emails } from "../../../services/accounts/Emails.ts"
import { codeOf } from "../../outgoing/Body.ts"
import * as Connection from "../../outgoing/Connection.ts"

export interface SmtpOptions {
  /** `smtp://user:password@host:port`, or `smtps://`. */
  readonly url: Redacted.Redacted
  readonly from: string
  readonly timeout?: Duration.Duration | undefined
}

const silenceMs = 10_000

/** Without it, a server that sends a line from time to time could hold an email forever. */
const defaultTimeout = Duration.seconds(30)

const maxReplyBytes = 64 * 1024

/** Limit for everything that a mail server sends per email, including TLS. */
const maxReceivedBytes = 256 * 1024

const closeMs = 1_000

/**
 * The HTML part is in base64, because programs that read a mail's source for a link would otherwise find that of the
 * HTML part, with its entities.
 */
const messageOf = ({ html, subject, text, to }: Email) => ({
  to,
  subject,
  text,
  ...(html === undefined
    ? {}
    : {
        alternatives: [
          { content: html, contentType: "text/html; charset=utf-8", contentTransferEncoding: "base64" as const }
        ]
      })
})

/** Keeps vacation notices from answering (RFC 3834, and Exchange's own header). */
const automatic = { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" }

/** One connection per email, because emails are rare and servers close idle connections. */
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
        // The library starts TLS itself, directly or by STARTTLS. These are its default ports.
        const to = { host, port: Number(port) || (secure === true ? 465 : 587), isSecure: false }
        Connection.open(to, limits, (error, socket) =>
          socket === undefined ? opened(error, false) : opened(null, { connection: socket })
        )
      }
    })
    const late = new EmailNotSent({ reason: `the mail server did not accept it within ${Duration.format(timeout)}` })
    const deliver = (email: Email) =>
      Effect.tryPromise({
        try: (signal) => {
          const headers = { ...automatic, ...email.headers }
          return transport.sendMail({ from, ...messageOf(email), headers, signal })
        },
        // Without the message, which may quote an email with a secret link.
        catch: (error) => new EmailNotSent({ reason: codeOf(error, "no reason given") })
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
