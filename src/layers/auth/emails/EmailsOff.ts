import { Effect, Layer } from "effect"
import { EmailNotSent, Emails } from "../../../services/accounts/Emails.ts"

const reason = "QUARRY_BACKGROUND is off"

/** Claims to deliver, so that a restored copy still requires confirmed addresses. Links are not logged. */
export const layer: Layer.Layer<Emails> = Layer.succeed(
  Emails,
  Emails.of({
    delivers: true,
    deliver: () => Effect.fail(new EmailNotSent({ reason })),
    send: ({ subject }) => Effect.logInfo(`${reason}, so this email was not sent: ${subject}`)
  })
)
