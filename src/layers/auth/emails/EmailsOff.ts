import { Effect, Layer } from "effect"
import { EmailNotSent, Emails } from "../../../services/accounts/Emails.ts"

const reason = "QUARRY_BACKGROUND is off"

/**
 * Suppresses emails but still requires confirmed addresses. Otherwise anyone could sign up to a restored copy with a
 * customer's address. The text is not logged, because its link is a secret.
 */
export const layer: Layer.Layer<Emails> = Layer.succeed(
  Emails,
  Emails.of({
    delivers: true,
    deliver: () => Effect.fail(new EmailNotSent({ reason })),
    send: ({ subject }) => Effect.logInfo(`${reason}, so this email was not sent: ${subject}`)
  })
)
