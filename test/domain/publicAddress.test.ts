import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { hostOf } from "../../src/domain/Network.ts"
import { addressFault, isAddress, isPublicAddress } from "../../src/domain/publicAddress.ts"

const v4Of = (value: number): string => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join(".")

/** An address of an IPv4 network: its first address and the length of its prefix. */
const inV4 = (first: string, prefix: number) => {
  const base = first.split(".").reduce((value, part) => value * 256 + Number(part), 0)
  return fc.nat(2 ** (32 - prefix) - 1).map((rest) => v4Of(base + rest))
}

/** The networks in which nothing is public: this one, private, shared, loopback, link-local and the reserved ones. */
const closedV4 = fc.oneof(
  inV4("0.0.0.0", 8),
  inV4("10.0.0.0", 8),
  inV4("100.64.0.0", 10),
  inV4("127.0.0.0", 8),
  inV4("169.254.0.0", 16),
  inV4("172.16.0.0", 12),
  inV4("192.0.0.0", 24),
  inV4("192.0.2.0", 24),
  inV4("192.168.0.0", 16),
  inV4("198.18.0.0", 15),
  inV4("198.51.100.0", 24),
  inV4("203.0.113.0", 24),
  inV4("224.0.0.0", 4),
  inV4("240.0.0.0", 4),
  fc.constantFrom("0.0.0.0", "255.255.255.255", "169.254.169.254")
)

/** Networks of companies and name servers that everybody reaches, also those next to closed ones. */
const openV4 = fc.oneof(
  inV4("8.8.8.0", 24),
  inV4("1.1.1.0", 24),
  inV4("93.184.216.0", 24),
  inV4("9.0.0.0", 8),
  inV4("11.0.0.0", 8),
  inV4("100.128.0.0", 10),
  inV4("126.0.0.0", 8),
  inV4("128.0.0.0", 8),
  inV4("172.32.0.0", 12),
  inV4("192.169.0.0", 16),
  inV4("223.0.0.0", 8)
)

const hexOf = (address: string): string => {
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number)
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

const groups = (count: number) =>
  fc
    .array(fc.nat(0xffff), { minLength: count, maxLength: count })
    .map((all) => all.map((it) => it.toString(16)).join(":"))

/** Prefixes of IPv6 that are not public, each with its free groups behind it. */
const closedV6 = fc.oneof(
  fc.constantFrom("::", "::1", "::2", "ff02::1", "ff0e::1"),
  ...["0", "64", "100", "fc00", "fd00", "fe80", "febf", "fec0", "ff00", "ff0e", "2002", "4000", "5f00", "8000"].map(
    (head) => groups(7).map((rest) => `${head}:${rest}`)
  ),
  ...["2001:0", "2001:2", "2001:10", "2001:20", "2001:1ff", "2001:db8", "3fff:0", "3fff:fff", "64:ff9b"].map((head) =>
    groups(6).map((rest) => `${head}:${rest}`)
  )
)

describe("isPublicAddress", () => {
  it("R53: no address of a closed IPv4 network is public", () => {
    fc.assert(fc.property(closedV4, (address) => assert.isFalse(isPublicAddress(address))))
  })

  it("R53: no IPv6 address with an IPv4 address inside is public, whatever that one is", () => {
    const wraps = [
      (v4: string) => `::ffff:${v4}`,
      (v4: string) => `::ffff:${hexOf(v4)}`,
      (v4: string) => `::${v4}`,
      (v4: string) => `64:ff9b::${v4}`,
      (v4: string) => `64:ff9b:1::${hexOf(v4)}`,
      (v4: string) => `2002:${hexOf(v4)}::1`,
      (v4: string) => `2001:0:${hexOf(v4)}::1`,
      (v4: string) => `2001::${hexOf(v4)}`
    ]
    fc.assert(
      fc.property(fc.oneof(closedV4, openV4), fc.constantFrom(...wraps), (v4, wrap) => {
        assert.isFalse(isPublicAddress(wrap(v4)))
      })
    )
  })

  it("R53: no address of a closed IPv6 network is public", () => {
    fc.assert(fc.property(closedV6, (address) => assert.isFalse(isPublicAddress(address))))
  })

  it("R53: addresses of the public internet are", () => {
    fc.assert(fc.property(openV4, (address) => assert.isTrue(isPublicAddress(address))))
    const heads = fc.constantFrom("2001:4860", "2606:4700", "2a00:1450", "2400:cb00", "2003:0", "3ffe:0")
    fc.assert(fc.property(heads, groups(6), (head, rest) => assert.isTrue(isPublicAddress(`${head}:${rest}`))))
  })

  it.each(["", "example.com", "1.2.3", "1.2.3.4.5", "256.1.1.1", "[2606:4700::1]", "fe80::1%eth0", "1.1.1.1/8"])(
    "R53: %j is no public address",
    (text) => assert.isFalse(isPublicAddress(text))
  )
})

describe("an endpoint's address", () => {
  it("R53: a host that is a closed address in any notation of URLs is read as that address", () => {
    const hosts = closedV4.chain((address) => {
      const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number)
      const value = ((a * 256 + b) * 256 + c) * 256 + d
      return fc.constantFrom(
        address,
        `${address}.`,
        `${value}`,
        `0x${value.toString(16)}`,
        `0${value.toString(8)}`,
        `${a}.${b}.${c * 256 + d}`,
        `${a}.${(b * 256 + c) * 256 + d}`,
        `0x${a.toString(16)}.0${b.toString(8)}.${c}.${d}`,
        `[::ffff:${address}]`
      )
    })
    fc.assert(
      fc.property(hosts, (host) => {
        const url = new URL(`https://${host}/`)
        assert.isTrue(isAddress(hostOf(url)), url.href)
        assert.isFalse(isPublicAddress(hostOf(url)), url.href)
      })
    )
  })

  it("R53: is https, without a user, a password or a part after #", () => {
    assert.isUndefined(addressFault("https://example.com:8443/hook?a=1", false))
    assert.isUndefined(addressFault("http://example.com/", true))
    for (const allowsPrivate of [true, false]) {
      assert.match(addressFault("ftp://example.com/", allowsPrivate) ?? "", /https:\/\//)
      assert.match(addressFault("https://a:b@example.com/", allowsPrivate) ?? "", /no user and no password/)
      assert.match(addressFault("https://example.com/#", allowsPrivate) ?? "", /after #/)
      assert.match(addressFault("example.com", allowsPrivate) ?? "", /an https address/)
      assert.match(addressFault(`https://example.com/${"a".repeat(2_000)}`, allowsPrivate) ?? "", /at most 2000/)
    }
    assert.strictEqual(addressFault("http://example.com/", false), "must begin with https://")
  })
})
