import { Schema } from "effect"
import type { Spending } from "../credits/Budget.ts"
import type { KeyBounds } from "./KeyBounds.ts"

export const keyModes = ["live", "test"] as const
export const KeyMode = Schema.Literals(keyModes).annotate({
  identifier: "KeyMode",
  message: `must be one of ${keyModes.join(", ")}`
})

/** Accepts any text: an unknown ID is `not_found`, not `invalid_request`. */
export const KeyId = Schema.String.annotate({ pattern: "^key_[0-9a-f]{32}$", description: "The key's ID." })
export type KeyMode = typeof KeyMode.Type

export interface ApiKey {
  readonly id: string
  readonly accountId: string
  readonly label: string
  readonly mode: KeyMode
  /** The start of the secret and its last four characters, by which its owner recognizes it. */
  readonly hint: string
  readonly createdAt: number
  /** The address of the person who created the key, or the first key of its rotations. */
  readonly createdBy: string | undefined
  readonly lastUsedAt: number | undefined
  /** In the future while a rotated secret is still valid (R51). */
  readonly revokedAt: number | undefined
  readonly bounds: KeyBounds
  readonly spending: Spending | undefined
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const entropyBytes = 32
/** Enough for 256 bits: 62^43 > 2^256 > 62^42. */
const entropyCharacters = 43
/** Enough for 32 bits: 62^6 > 2^32 > 62^5. */
const checksumCharacters = 6

const base62 = (value: bigint, length: number): string => {
  let text = ""
  for (let rest = value; text.length < length; rest /= 62n) text = alphabet[Number(rest % 62n)] + text
  return text
}

/** Precomputed, because every request with a key computes a checksum. */
const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  return crc
})

const crc32 = (text: string): number => {
  let crc = 0xffffffff
  for (let i = 0; i < text.length; i++) crc = (crc >>> 8) ^ (crcTable[(crc ^ text.charCodeAt(i)) & 0xff] ?? 0)
  return (crc ^ 0xffffffff) >>> 0
}

const checksum = (text: string): string => base62(BigInt(crc32(text)), checksumCharacters)

/** `sk_live_` or `sk_test_`, 32 random bytes in base62, and a checksum. */
export const makeSecret = (mode: KeyMode, entropy: Uint8Array): string => {
  if (entropy.length !== entropyBytes) throw new RangeError(`a key needs ${entropyBytes} random bytes`)
  const value = entropy.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
  const body = `sk_${mode}_${base62(value, entropyCharacters)}`
  return body + checksum(body)
}

const secretPattern = new RegExp(`^sk_(?:live|test)_[0-9A-Za-z]{${entropyCharacters + checksumCharacters}}$`)

/** Checks form and checksum, so that a mistyped key needs no database lookup. */
export const isSecret = (text: string): boolean =>
  secretPattern.test(text) && checksum(text.slice(0, -checksumCharacters)) === text.slice(-checksumCharacters)

export const isKey = (text: string): boolean => text.startsWith("sk_")

/** Shown of a secret: its start and its end. */
const shownStart = 12
const shownEnd = 4

export const secretHint = (secret: string): string => `${secret.slice(0, shownStart)}…${secret.slice(-shownEnd)}`

/** The start of the hints of secrets that start with this text. Of a whole secret, its hint. */
export const hintPrefix = (text: string): string => (isSecret(text) ? secretHint(text) : text.slice(0, shownStart))
