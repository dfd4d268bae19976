import { createHmac, timingSafeEqual } from "node:crypto"
import { Effect, Layer, Redacted } from "effect"
import { htmlText, plainText } from "../../domain/emails/EmailBody.ts"
import { eventEmail } from "../../domain/webhooks/eventText.ts"
import { Emails } from "../../services/accounts/Emails.ts"
import { Deployment } from "../../services/operations/Deployment.ts"
import type { Keyring, SecretValue } from "../../services/operations/Keyrings.ts"
import { EventEmails, unsubscribePath } from "../../services/webhooks/EventEmails.ts"

/** 144 bits: cannot be guessed, and short enough that mail clients do not break the link. */
const signatureBytes = 18

/** The account id and its signature. It can only stop emails, so it is safe in a URL. */
const tokenOf = ({ secret }: SecretValue, accountId: string): string => {
  const signature = createHmac("sha256", Redacted.value(secret))
    .update(`quarry unsubscribe ${accountId}`)
    .digest()
    .subarray(0, signatureBytes)
  return `${accountId}.${signature.toString("base64url")}`
}

/** Compares the whole text, because the token is written back into the page and must have only one form. */
const accountOf = (keyring: Keyring, token: string): string | undefined => {
  const accountId = token.slice(0, Math.max(token.indexOf("."), 0))
  const given = Buffer.from(token)
  const isOurs = keyring.values().some((value) => {
    const ours = Buffer.from(tokenOf(value, accountId))
    return given.length === ours.length && timingSafeEqual(given, ours)
  })
  return isOurs ? accountId : undefined
}

export const layer = (options: { readonly keyring: Keyring }): Layer.Layer<EventEmails, never, Emails> =>
  Layer.effect(
    EventEmails,
    Effect.gen(function* () {
      const emails = yield* Emails
      const { origin } = yield* Deployment
      const { keyring } = options
      return EventEmails.of({
        delivers: emails.delivers,
        accountOf: (token) => accountOf(keyring, token),
        send: (address, event) => {
          const link = `${origin}${unsubscribePath}?token=${tokenOf(keyring.values()[0], event.accountId)}`
          const body = eventEmail(event, origin, [
            { text: "Choose which emails you get", href: `${origin}/dashboard/webhooks` },
            { text: "Unsubscribe", href: link }
          ])
          return emails.deliver({
            to: address,
            subject: body.subject,
            text: plainText(body),
            html: htmlText(body),
            headers: {
              "List-Unsubscribe": `<${link}>`,
              "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
              "X-Quarry-Event": event.id
            }
          })
        }
      })
    })
  )
