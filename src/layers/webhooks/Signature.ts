import { createHmac } from "node:crypto"
import { Redacted } from "effect"
import { secretPrefix } from "../../domain/Event.ts"

/** The bytes that a secret's text stands for. */
const keyOf = (secret: Redacted.Redacted): Buffer =>
  Buffer.from(Redacted.value(secret).slice(secretPrefix.length), "base64")

/** The `webhook-signature` of Standard Webhooks: one signature by each secret, with spaces between them. */
export const signatureHeader = (
  secrets: ReadonlyArray<Redacted.Redacted>,
  id: string,
  timestamp: number,
  body: string
): string =>
  secrets
    .map((secret) => `v1,${createHmac("sha256", keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest("base64")}`)
    .join(" ")
