import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto"
import { Redacted } from "effect"
import type { Keyring, SecretValue } from "../../../services/operations/Keyrings.ts"

// Secrets that must be readable, encrypted with a key derived from AUTH_SECRET (AES-256-GCM): nonce, text, tag. The
// row's id is authenticated too, so a secret copied to another row cannot be decrypted.

const algorithm = "aes-256-gcm"
const nonceBytes = 12
const tagBytes = 16
const keyBytes = 32

export interface Sealed {
  readonly bytes: Uint8Array
  readonly key: string
}

const keyOf = ({ secret }: SecretValue): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", Redacted.value(secret), "", "quarry sealed secrets", keyBytes))

export const seal = (keyring: Keyring, rowId: string, secret: Redacted.Redacted): Sealed => {
  const [value] = keyring.values()
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(algorithm, keyOf(value), nonce).setAAD(Buffer.from(rowId))
  const text = Buffer.concat([cipher.update(Redacted.value(secret), "utf8"), cipher.final()])
  return { bytes: Buffer.concat([nonce, text, cipher.getAuthTag()]), key: value.fingerprint }
}

/** Decrypts the secret. Undefined if this process lacks the AUTH_SECRET that encrypted it. */
export const open = (keyring: Keyring, rowId: string, { bytes, key }: Sealed): Redacted.Redacted | undefined => {
  const value = keyring.values().find(({ fingerprint }) => fingerprint === key)
  if (value === undefined || bytes.length < nonceBytes + tagBytes) return undefined
  const decipher = createDecipheriv(algorithm, keyOf(value), bytes.subarray(0, nonceBytes))
  decipher.setAAD(Buffer.from(rowId)).setAuthTag(bytes.subarray(-tagBytes))
  try {
    const text = Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()])
    return Redacted.make(text.toString("utf8"))
  } catch {
    return undefined
  }
}
