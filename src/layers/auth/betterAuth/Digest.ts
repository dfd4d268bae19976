import { createHmac, timingSafeEqual } from "node:crypto"
import { Redacted } from "effect"
import type { Keyring, SecretValue } from "../../../services/operations/Keyrings.ts"

/** Neither a reader nor a writer of the database can use a stored digest without the secret. */
export const digestOf = (secret: Redacted.Redacted, purpose: string, token: string): string =>
  createHmac("sha256", Redacted.value(secret)).update(`${purpose}:${token}`).digest("base64url")

/** The number by which the sign-in library finds the secret that encrypted a text. */
export const versionOf = ({ fingerprint }: SecretValue): number => Number.parseInt(fingerprint.slice(0, 8) || "0", 16)

/** The token of a link that ends a session. It is not stored. */
export const endTokenOf = (secret: Redacted.Redacted, sessionId: string): string =>
  `${sessionId}.${digestOf(secret, "end session", sessionId)}`

const signedTokenPattern = /^([0-9A-Za-z]{32})\.([0-9A-Za-z+/]{43}=)$/

/** The session token in a signed cookie; undefined if this deployment did not sign it. Compares in constant time. */
export const tokenOf = (keyring: Keyring, cookie: Redacted.Redacted): string | undefined => {
  const value = Redacted.value(cookie).replaceAll(/%2[BF]|%3D/gi, decodeURIComponent)
  const [, token, signature] = signedTokenPattern.exec(value) ?? []
  if (token === undefined || signature === undefined) return undefined
  return keyring.values().some(({ secret }) => isSignedBy(secret, token, signature)) ? token : undefined
}

export const signatureOf = (secret: Redacted.Redacted, text: string): string =>
  createHmac("sha256", Redacted.value(secret)).update(text).digest("base64")

/** Compares texts rather than bytes, because several base64 texts decode to the same bytes. */
export const isSignedBy = (secret: Redacted.Redacted, text: string, signature: string): boolean => {
  const expected = Buffer.from(signatureOf(secret, text))
  const presented = Buffer.from(signature)
  return expected.length === presented.length && timingSafeEqual(expected, presented)
}

export const digestsOf = (keyring: Keyring, purpose: string, token: string): ReadonlyArray<string> =>
  keyring.values().map(({ secret }) => digestOf(secret, purpose, token))
