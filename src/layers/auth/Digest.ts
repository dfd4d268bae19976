import { createHmac, timingSafeEqual } from "node:crypto"
import { Redacted } from "effect"
import type { Keyring } from "../../services/Keyrings.ts"

/** The digest by which a token is stored: a reader of the database learns no token, and without the secret makes none. */
export const digestOf = (secret: Redacted.Redacted, purpose: string, token: string): string =>
  createHmac("sha256", Redacted.value(secret)).update(`${purpose}:${token}`).digest("base64url")

/** A token of 32 letters and digits, and its HMAC-SHA256 in base64. */
const signedTokenPattern = /^([0-9A-Za-z]{32})\.([0-9A-Za-z+/]{43}=)$/

/**
 * The token in a session cookie's value, percent-encoded or not; undefined when this deployment has not signed it. The
 * comparison takes constant time, so that nobody finds a signature byte by byte.
 */
export const tokenOf = (keyring: Keyring, cookie: Redacted.Redacted): string | undefined => {
  const value = Redacted.value(cookie).replaceAll(/%2[BF]|%3D/gi, decodeURIComponent)
  const [, token, signature] = signedTokenPattern.exec(value) ?? []
  if (token === undefined || signature === undefined) return undefined
  return keyring.values().some(({ secret }) => isSignedBy(secret, token, signature)) ? token : undefined
}

/** The library's signature of a cookie's text. */
export const signatureOf = (secret: Redacted.Redacted, text: string): string =>
  createHmac("sha256", Redacted.value(secret)).update(text).digest("base64")

/** Compares texts, because several base64 texts decode to the same bytes. */
export const isSignedBy = (secret: Redacted.Redacted, text: string, signature: string): boolean => {
  const expected = Buffer.from(signatureOf(secret, text))
  const presented = Buffer.from(signature)
  return expected.length === presented.length && timingSafeEqual(expected, presented)
}

/** The digests of a token by every secret that is accepted. */
export const digestsOf = (keyring: Keyring, purpose: string, token: string): ReadonlyArray<string> =>
  keyring.values().map(({ secret }) => digestOf(secret, purpose, token))
