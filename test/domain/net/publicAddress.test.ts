import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { hostOf } from "../../../src/domain/net/Network.ts"
import { addressFault, isAddress, isPublicAddress } from "../../../src/domain/net/publicAddress.ts"

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

  it("R53: no IPv6 address that contains an IPv4 address is public", () => {
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
    "R53: %j is not a public address",
    (text) => assert.isFalse(isPublicAddress(text))
  )
})

/** Blocks of IANA's special-purpose registries, and where clouds answer their own machines. */
const closed: ReadonlyArray<readonly [what: string, addresses: ReadonlyArray<string>]> = [
  ["this network", ["0.0.0.0", "0.255.255.255"]],
  ["private use", ["10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255"]],
  ["shared", ["100.64.0.0", "100.127.255.255"]],
  ["loopback", ["127.0.0.0", "127.255.255.255"]],
  ["link-local", ["169.254.0.0", "169.254.255.255"]],
  ["IETF protocol assignments", ["192.0.0.0", "192.0.0.8", "192.0.0.170", "192.0.0.255"]],
  ["documentation", ["192.0.2.1", "198.51.100.1", "203.0.113.1"]],
  ["AS112", ["192.31.196.1", "192.175.48.1"]],
  ["AMT", ["192.52.193.1"]],
  ["relays of 6to4", ["192.88.99.1"]],
  ["benchmarks", ["198.18.0.0", "198.19.255.255"]],
  ["multicast and reserved", ["224.0.0.0", "239.255.255.255", "240.0.0.0", "255.255.255.255"]],
  ["the metadata of AWS, Google, Azure, Oracle and others", ["169.254.169.254"]],
  ["the credentials of containers at AWS", ["169.254.170.2", "169.254.170.23"]],
  ["Azure's WireServer", ["168.63.129.16"]],
  ["the metadata of Alibaba", ["100.100.100.200"]],
  ["the metadata of Oracle's classic cloud", ["192.0.0.192"]],
  ["the metadata of Scaleway and Tencent", ["169.254.42.42", "169.254.0.23"]]
]

const closedIpv6: ReadonlyArray<readonly [what: string, addresses: ReadonlyArray<string>]> = [
  ["unspecified and loopback", ["::", "::1"]],
  ["discard and dummy", ["100::1", "100:0:0:1::1"]],
  ["IETF protocol assignments", ["2001:1::1", "2001:1ff:ffff::1"]],
  ["benchmarks", ["2001:2::1"]],
  ["AMT and AS112", ["2001:3::1", "2001:4:112::1", "2620:4f:8000::1"]],
  ["ORCHID and drones", ["2001:10::1", "2001:20::1", "2001:30::1"]],
  ["documentation", ["2001:db8::1", "3fff::1", "3fff:fff:ffff::1"]],
  ["segment routing", ["5f00::1"]],
  [
    "unique local, link-local, site-local and multicast",
    ["fc00::1", "fdff::1", "fe80::1", "febf::1", "fec0::1", "ff0e::1"]
  ],
  ["the metadata of AWS", ["fd00:ec2::254", "fd00:ec2::23"]],
  ["the metadata of Google", ["fd20:ce::254"]],
  ["the metadata of Oracle and Scaleway", ["fd00:c1::a9fe:a9fe", "fd00:42::42"]]
]

/** Everything that stands for an IPv4 address, as a host of a URL. */
const spellings = (address: string): ReadonlyArray<string> => {
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number)
  const value = ((a * 256 + b) * 256 + c) * 256 + d
  const [high, low] = hexOf(address).split(":")
  const [notHigh, notLow] = hexOf([a, b, c, d].map((part) => 255 - part).join(".")).split(":")
  return [
    address,
    `${address}.`,
    `${value}`,
    `0x${value.toString(16)}`,
    `0X${value.toString(16).toUpperCase()}`,
    `0${value.toString(8)}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    `${a}.${b}.${c * 256 + d}`,
    [a, b, c, d].map((part) => `0x${part.toString(16)}`).join("."),
    [a, b, c, d].map((part) => `0${part.toString(8)}`).join("."),
    `0000${a.toString(8)}.${b}.0x${c.toString(16)}.${d}`,
    encodeURIComponent(address).replaceAll(/\d/g, (digit) => `%3${digit}`),
    address.replaceAll(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit))),
    address.replaceAll(".", "\u3002"),
    `[::ffff:${address}]`,
    `[::FFFF:${high}:${low}]`,
    `[0:0:0:0:0:ffff:${high}:${low}]`,
    `[0000:0000:0000:0000:0000:ffff:${address}]`,
    `[::${address}]`,
    `[::${high}:${low}]`,
    `[::ffff:0:${address}]`,
    `[64:ff9b::${address}]`,
    `[64:ff9b::${high}:${low}]`,
    `[64:ff9b:1::${address}]`,
    `[64:ff9b:1:${high}:0:${low}::]`,
    `[2002:${high}:${low}::]`,
    `[2002:${high}:${low}:1:2:3:4:5]`,
    `[2001::${high}:${low}:0:0:${notHigh}:${notLow}]`,
    `[2001:0:${high}:${low}:0:ffff:${notHigh}:${notLow}]`
  ]
}

describe("R53: no spelling of a closed address is public", () => {
  it.each(closed)("%s", (_, addresses) => {
    for (const host of addresses.flatMap(spellings)) {
      const url = new URL(`https://${host}/`)
      assert.isTrue(isAddress(hostOf(url)), host)
      assert.isFalse(isPublicAddress(hostOf(url)), host)
    }
  })

  it.each(closedIpv6)("%s", (_, addresses) => {
    for (const address of addresses) {
      const url = new URL(`https://[${address.toUpperCase()}]/`)
      assert.isFalse(isPublicAddress(address), address)
      assert.isFalse(isPublicAddress(hostOf(url)), address)
    }
  })

  it("their neighbors are", () => {
    const open = ["168.63.129.15", "168.63.129.17", "100.63.255.255", "100.128.0.0", "169.253.255.255", "169.255.0.0"]
    const openIpv6 = ["2001:200::1", "2003::1", "2620:4f:7fff::1", "2620:4f:8001::1", "3fff:1000::1", "2600::1"]
    for (const address of [...open, ...openIpv6]) assert.isTrue(isPublicAddress(address), address)
  })
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
      assert.match(addressFault("https://a:b@example.com/", allowsPrivate) ?? "", /user name or password/)
      assert.match(addressFault("https://:b@example.com/", allowsPrivate) ?? "", /user name or password/)
      assert.match(addressFault("https://example.com/#", allowsPrivate) ?? "", /fragment/)
      assert.match(addressFault("example.com", allowsPrivate) ?? "", /an https address/)
      assert.match(addressFault(`https://example.com/${"a".repeat(2_000)}`, allowsPrivate) ?? "", /at most 2000/)
    }
    assert.strictEqual(addressFault("http://example.com/", false), "must start with https://")
  })
})
