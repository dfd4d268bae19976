import { Schema } from "effect"
import type { Spending } from "./Budget.ts"
import type { KeyBounds } from "./KeyBounds.ts"

export const keyModes = ["live", "test"] as const
export const KeyMode = Schema.Literals(keyModes).annotate({
  identifier: "KeyMode",
  message: `must be one of ${keyModes.join(", ")}`
})

/** A key's id. Any text is taken where one is looked up, because an unknown id is `not_found`. */
export const KeyId = Schema.String.annotate({ pattern: "^key_[0-9a-f]{32}$", description: "The key's id." })
export type KeyMode = typeof KeyMode.Type

/** A key without its secret, which is shown once. */
export interface ApiKey {
  /** `key_` and 32 hex characters. */
  readonly id: string
  readonly accountId: string
  readonly label: string
  readonly mode: KeyMode
  /** The first characters of the secret and its last four, for a person to recognise it by. */
  readonly hint: string
  readonly createdAt: number
  readonly lastUsedAt: number | undefined
  /** Lies ahead while the secret of a rotated key has its grace (R51). */
  readonly revokedAt: number | undefined
  readonly bounds: KeyBounds
  /** The spending in the budget's present period; undefined without a budget. */
  readonly spending: Spending | undefined
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const entropyBytes = 32
/** 62^43 > 2^256 > 62^42. */
const entropyCharacters = 43
/** 62^6 > 2^32 > 62^5. */
const checksumCharacters = 6

const base62 = (value: bigint, length: number): string => {
  let text = ""
  for (let rest = value; text.length < length; rest /= 62n) text = alphabet[Number(rest % 62n)] + text
  return text
}

/** The CRC-32 of each byte, made once, because every request with a key computes a checksum. */
const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  return crc
})

/** CRC-32 (IEEE 802.3) of ASCII text. */
const crc32 = (text: string): number => {
  let crc = 0xffffffff
  for (let i = 0; i < text.length; i++) crc = (crc >>> 8) ^ (crcTable[(crc ^ text.charCodeAt(i)) & 0xff] ?? 0)
  return (crc ^ 0xffffffff) >>> 0
}

const checksum = (text: string): string => base62(BigInt(crc32(text)), checksumCharacters)

/** A secret from 32 random bytes: `sk_live_` or `sk_test_`, the bytes in base62, and a checksum over what precedes it. */
export const makeSecret = (mode: KeyMode, entropy: Uint8Array): string => {
  if (entropy.length !== entropyBytes) throw new RangeError(`a key needs ${entropyBytes} random bytes`)
  const value = entropy.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
  const body = `sk_${mode}_${base62(value, entropyCharacters)}`
  return body + checksum(body)
}

const secretPattern = new RegExp(`^sk_(?:live|test)_[0-9A-Za-z]{${entropyCharacters + checksumCharacters}}$`)

/** True for text with the form and the checksum of a secret, so that a typo costs no look-up. */
export const isSecret = (text: string): boolean =>
  secretPattern.test(text) && checksum(text.slice(0, -checksumCharacters)) === text.slice(-checksumCharacters)

/** True for text that begins like a secret, also where its characters are wrong. */
export const isKey = (text: string): boolean => text.startsWith("sk_")

/** The part of a secret that may be shown after its creation. */
export const secretHint = (secret: string): string => `${secret.slice(0, 12)}…${secret.slice(-4)}`
