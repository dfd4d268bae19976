import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { vi } from "vitest"
import { isAllowedRedirect } from "../../../src/domain/accounts/OAuth.ts"
import { parseAddress } from "../../../src/domain/net/address.ts"
import { addressFault } from "../../../src/domain/net/publicAddress.ts"
import { parseSite } from "../../../src/domain/options/Sites.ts"
import { ownPath } from "../../../src/domain/requests/ownPath.ts"

const base = "http://quarry.test"

/** A host of characters that `URL` takes long to convert. */
const slowHost = Array.from({ length: 600 }, (_, n) => String.fromCodePoint(0x4e00 + n)).join("")

/** Text around a host, with everything by which an address can hide where its host begins. */
const scheme = fc.constantFrom("", "", "http:", " https:", "ht\ttp:")
const part = fc.string({
  unit: fc.constantFrom("/", "/", "\\", "\t", "\n", "\r", ":", "a@", ".", "?", "#"),
  maxLength: 6
})

describe("parseAddress", () => {
  it("parses addresses as URL does if their hosts are short", () => {
    fc.assert(
      fc.property(scheme, part, part, (scheme, before, after) => {
        const text = `${scheme}${before}example.com${after}`
        assert.strictEqual(parseAddress(text, base)?.href, URL.parse(text, base)?.href)
      })
    )
  })

  it("finds a long host however the address is written", () => {
    const host = "a".repeat(1500)
    let long = 0
    fc.assert(
      fc.property(scheme, part, part, (scheme, before, after) => {
        const text = `${scheme}${before}${host}${after}`
        if ((URL.parse(text, base)?.hostname.length ?? 0) < host.length) return
        long++
        assert.isNull(parseAddress(text, base))
      }),
      { numRuns: 2000 }
    )
    assert.isAbove(long, 100)
  })

  const parsers: Readonly<Record<string, (address: string) => unknown>> = {
    ownPath: (address) => ownPath(address, base),
    addressFault: (address) => addressFault(address, false),
    isAllowedRedirect,
    parseSite
  }
  for (const [name, parse] of Object.entries(parsers)) {
    it(`${name} does not convert a host that is too long, because that takes the square of its length`, () => {
      const converted = vi.spyOn(URL, "parse")
      try {
        parse(`https://${slowHost}/`)
        assert.isEmpty(converted.mock.calls)
        parse("https://example.com/")
        assert.isNotEmpty(converted.mock.calls)
      } finally {
        converted.mockRestore()
      }
    })
  }
})
