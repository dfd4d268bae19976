import { createHmac, timingSafeEqual } from "node:crypto"
import { Redacted } from "effect"

/** What is stored of a token: who reads the database learns no token, and without the secret can make none up. */
export const digestOf = (secret: Redacted.Redacted, purpose: string, token: string): string =>
  createHmac("sha256", Redacted.value(secret)).update(`${purpose}:${token}`).digest("base64url")

/** 32 letters and digits, and a SHA-256 in base64. */
const signedToken = /^([0-9A-Za-z]{32})\.([0-9A-Za-z+/]{43}=)$/

/**
 * The token in a session cookie's value, percent-encoded or not; undefined when its signature is not of this
 * deployment. The comparison takes the same time wherever the first difference is.
 */
export const tokenOf = (secret: Redacted.Redacted, cookie: Redacted.Redacted): string | undefined => {
  const value = Redacted.value(cookie).replaceAll(/%2[BF]|%3D/gi, decodeURIComponent)
  const [, token, signature] = signedToken.exec(value) ?? []
  if (token === undefined || signature === undefined) return undefined
  // As text: several texts decode to the same bytes.
  const expected = createHmac("sha256", Redacted.value(secret)).update(token).digest("base64")
  return timingSafeEqual(Buffer.from(expected), Buffer.from(signature)) ? token : undefined
}
