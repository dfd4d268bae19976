import { Effect, Layer } from "effect"
import { EmailNotSent, Emails } from "../../../services/accounts/Emails.ts"

export const layer: Layer.Layer<Emails> = Layer.succeed(
  Emails,
  Emails.of({
    delivers: false,
    deliver: () => Effect.fail(new EmailNotSent({ reason: "there is no mail server" })),
    send: ({ subject, text, to }) =>
      Effect.logInfo(`SMTP is not configured (SMTP_URL), so this email to ${to} was not sent: ${subject}\n${text}`)
  })
)
