import { createHmac } from "node:crypto"
import { Redacted } from "effect"
import { secretPrefix } from "../../domain/webhooks/Event.ts"

const keyOf = (secret: Redacted.Redacted): Buffer =>
  Buffer.from(Redacted.value(secret).slice(secretPrefix.length), "base64")

/** Standard Webhooks: one signature per secret, separated by spaces. */
export const signatureHeader = (
  secrets: ReadonlyArray<Redacted.Redacted>,
  id: string,
  timestamp: number,
  body: string
): string =>
  secrets
    .map((secret) => `v1,${createHmac("sha256", keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest("base64")}`)
    .join(" ")
