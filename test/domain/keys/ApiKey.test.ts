import { crc32 } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { isSecret, keyModes, makeSecret, secretHint } from "../../../src/domain/keys/ApiKey.ts"

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const fromBase62 = (text: string): bigint =>
  Array.from(text).reduce((sum, character) => sum * 62n + BigInt(alphabet.indexOf(character)), 0n)

const toBase62 = (value: number): string => {
  let text = ""
  for (let rest = value; text.length < 6; rest = Math.floor(rest / 62)) text = (alphabet[rest % 62] ?? "") + text
  return text
}

const mode = fc.constantFrom(...keyModes)
const entropy = fc.uint8Array({ minLength: 32, maxLength: 32 })
const zeros = new Uint8Array(32)
const ones = new Uint8Array(32).fill(255)

describe("a secret", () => {
  it("is sk_live_ or sk_test_, 43 base62 characters and 6 of checksum, for any 32 bytes", () => {
    const property = (keyMode: "live" | "test", bytes: Uint8Array) => {
      const secret = makeSecret(keyMode, bytes)
      assert.match(secret, new RegExp(`^sk_${keyMode}_[0-9A-Za-z]{49}$`))
      assert.isTrue(isSecret(secret))
    }
    for (const keyMode of keyModes) for (const bytes of [zeros, ones]) property(keyMode, bytes)
    fc.assert(fc.property(mode, entropy, property))
  })

  it("holds all of its bytes, so that two keys are as unlikely to meet as their bytes", () => {
    fc.assert(
      fc.property(mode, entropy, (keyMode, bytes) => {
        const body = makeSecret(keyMode, bytes).slice("sk_live_".length, -6)
        assert.strictEqual(fromBase62(body).toString(16).padStart(64, "0"), Buffer.from(bytes).toString("hex"))
      })
    )
  })

  it("ends in the CRC-32 of what precedes it", () => {
    fc.assert(
      fc.property(mode, entropy, (keyMode, bytes) => {
        const secret = makeSecret(keyMode, bytes)
        assert.strictEqual(fromBase62(secret.slice(-6)), BigInt(crc32(secret.slice(0, -6))))
      })
    )
  })

  it("is the same for the same bytes, and another for the other mode", () => {
    assert.strictEqual(makeSecret("live", ones), makeSecret("live", Uint8Array.from(ones)))
    assert.notStrictEqual(makeSecret("live", ones).slice(-6), makeSecret("test", ones).slice(-6))
  })

  it("cannot be made of fewer or more bytes", () => {
    for (const length of [0, 16, 31, 33]) assert.throws(() => makeSecret("live", new Uint8Array(length)), RangeError)
  })
})

describe("what cannot be a secret", () => {
  it("has one character changed: every position and every character of the alphabet", () => {
    const secret = makeSecret(
      "live",
      Uint8Array.from({ length: 32 }, (_, index) => index * 7 + 3)
    )
    for (let at = 0; at < secret.length; at++) {
      for (const character of `${alphabet}_- ~\n\0é`) {
        if (secret[at] === character) continue
        const changed = secret.slice(0, at) + character + secret.slice(at + 1)
        assert.isFalse(isSecret(changed), `${changed} differs at ${at}`)
      }
    }
  })

  it("has one character changed, for any secret", () => {
    fc.assert(
      fc.property(
        mode,
        entropy,
        fc.nat(56),
        fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
        (keyMode, bytes, at, to) => {
          const secret = makeSecret(keyMode, bytes)
          fc.pre(secret[at] !== to)
          assert.isFalse(isSecret(secret.slice(0, at) + to + secret.slice(at + 1)))
        }
      ),
      { numRuns: 2_000 }
    )
  })

  it("has two neighbors swapped, one character dropped, or one doubled", () => {
    fc.assert(
      fc.property(mode, entropy, fc.nat(55), (keyMode, bytes, at) => {
        const secret = makeSecret(keyMode, bytes)
        const [before, first, second, after] = [secret.slice(0, at), secret[at], secret[at + 1], secret.slice(at + 2)]
        if (first !== second) assert.isFalse(isSecret(`${before}${second}${first}${after}`))
        assert.isFalse(isSecret(`${before}${second}${after}`))
        assert.isFalse(isSecret(`${before}${first}${first}${second}${after}`))
      })
    )
  })

  it("claims the other mode", () => {
    assert.isFalse(isSecret(makeSecret("live", ones).replace("sk_live_", "sk_test_")))
  })

  const secret = makeSecret("test", ones)
  for (const text of [
    "",
    "sk_live_",
    ` ${secret}`,
    `${secret}\n`,
    `Bearer ${secret}`,
    secret.toUpperCase(),
    secret + secret
  ]) {
    it(`is ${JSON.stringify(text.slice(0, 20))}, ${text.length} characters`, () => assert.isFalse(isSecret(text)))
  }

  it("has the right checksum over the wrong shape", () => {
    const withChecksum = (body: string) => body + toBase62(crc32(body))
    const body = "a".repeat(43)
    assert.isTrue(isSecret(withChecksum(`sk_live_${body}`)))
    for (const wrong of [
      "",
      "sk_live_",
      `sk_live_${body}a`,
      `sk_live_${body.slice(1)}`,
      `sk_prod_${body}`,
      `pk_live_${body}`
    ]) {
      assert.isFalse(isSecret(withChecksum(wrong)), wrong)
    }
    assert.isFalse(isSecret(withChecksum(`sk_live_${"-".repeat(43)}`)))
  })

  it("is any other text, however long", () => {
    fc.assert(fc.property(fc.string(), (text) => !isSecret(text)))
    assert.isFalse(isSecret("sk_live_".repeat(100_000)))
  })
})

describe("a hint", () => {
  it("shows the mode, four characters and the last four, and no more", () => {
    const secret = makeSecret("live", ones)
    assert.strictEqual(secretHint(secret), `${secret.slice(0, 12)}…${secret.slice(-4)}`)
    assert.strictEqual(Array.from(secretHint(secret)).length, 17)
  })
})
