import type { EmailBody } from "./EmailBody.ts"

/** Asks a person who signed up to confirm the address. */
export const confirmationOf = (href: string): Omit<EmailBody, "facts" | "links"> => ({
  subject: "Confirm your email address for Quarry",
  paragraphs: [
    "Someone signed up for Quarry with this email address. If this was you, open this link within one hour to confirm the address and choose your password:"
  ],
  button: { text: "Confirm the address", href },
  ifUnexpected: "If this was not you, ignore this email. The address stays unconfirmed."
})
