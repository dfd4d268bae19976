import { createHmac } from "node:crypto"

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

const fromBase32 = (text: string): Buffer => {
  const bits = [...text].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, "0")).join("")
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}

/** RFC 6238 with SHA-1, written apart from the sign-in library. */
export const totp = (secret: Buffer, seconds: number, digits = 6): string => {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(seconds / 30)))
  const mac = createHmac("sha1", secret).update(counter).digest()
  const number = mac.readUInt32BE((mac.at(-1) ?? 0) & 15) & 0x7fff_ffff
  return String(number % 10 ** digits).padStart(digits, "0")
}

/** The code that an app shows `steps` half minutes from now. */
export const codeOf = (totpUri: string, steps = 0): string =>
  totp(fromBase32(new URL(totpUri).searchParams.get("secret") ?? ""), Date.now() / 1000 + 30 * steps)
