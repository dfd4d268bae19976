import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { clientNetwork, clientSite, isFromUntrustedProxy } from "../../../src/domain/accounts/ClientAddress.ts"

/** The network of a client that is connected without a proxy. */
const networkOf = (address: string) => clientNetwork(address, undefined, 0)

const octet = fc.integer({ min: 0, max: 255 })
const ipv4 = fc.tuple(octet, octet, octet, octet).map((octets) => octets.join("."))
const segment = fc.integer({ min: 0, max: 0xffff })
const segments = (count: number) => fc.array(segment, { minLength: count, maxLength: count })

/** The ways to write the same IPv6 address. */
const spellings = (parts: ReadonlyArray<number>): ReadonlyArray<string> => {
  const short = parts.map((part) => part.toString(16)).join(":")
  const long = parts.map((part) => part.toString(16).padStart(4, "0")).join(":")
  const compressed = new URL(`http://[${short}]`).hostname
  return [short, long, long.toUpperCase(), compressed, compressed.slice(1, -1), `[${long}]:443`, `${short}%eth0`]
}

describe("R24: the network an address is metered by", () => {
  it("is an IPv4 address itself, however it is carried", () => {
    fc.assert(
      fc.property(ipv4, (address) => {
        const last = address.split(".").map(Number)
        const mapped = `::ffff:${(((last[0] ?? 0) << 8) | (last[1] ?? 0)).toString(16)}:${(((last[2] ?? 0) << 8) | (last[3] ?? 0)).toString(16)}`
        for (const form of [address, `${address}:8080`, `::ffff:${address}`, `::FFFF:${address}`, mapped]) {
          assert.strictEqual(networkOf(form), address, form)
        }
      })
    )
  })

  it("is the /64 of an IPv6 address in any spelling, with any of the other 64 bits", () => {
    fc.assert(
      fc.property(segments(4), segments(4), segments(4), (prefix, one, other) => {
        // ::/64 holds the IPv4-mapped addresses, which are IPv4.
        fc.pre(prefix.some((part) => part !== 0))
        const networks = [...spellings([...prefix, ...one]), ...spellings([...prefix, ...other])].map(networkOf)
        assert.match(networks[0] ?? "", /^[0-9a-f:]+\/64$/)
        for (const network of networks) assert.strictEqual(network, networks[0])
      })
    )
  })

  it("differs where the first 64 bits differ", () => {
    fc.assert(
      fc.property(
        segments(8),
        fc.integer({ min: 0, max: 3 }),
        fc.integer({ min: 1, max: 0xffff }),
        (parts, at, flip) => {
          fc.pre(parts.slice(0, 4).some((part) => part !== 0))
          const other = parts.map((part, index) => (index === at ? part ^ flip : part))
          fc.pre(other.slice(0, 4).some((part) => part !== 0))
          assert.notStrictEqual(networkOf(spellings(parts)[0] ?? ""), networkOf(spellings(other)[0] ?? ""))
        }
      )
    )
  })

  it("is undefined for anything but an address", () => {
    const texts = ["", "unknown", "_hidden", "localhost", "1.2.3", "1.2.3.256", "01.2.3.4", "::1::", "1.2.3.4/8", ":::"]
    for (const text of texts) assert.isUndefined(networkOf(text), text)
  })
})

describe("R24: the client behind trusted proxies", () => {
  it("is the socket's address without them, with any header", () => {
    fc.assert(
      fc.property(ipv4, fc.string(), (socket, header) => {
        assert.strictEqual(clientNetwork(socket, header, 0), socket)
      })
    )
  })

  it("is the entry that the outermost trusted proxy appended, after anything the caller wrote", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme-ascii" }), { maxLength: 4 }),
        fc.array(ipv4, { minLength: 1, maxLength: 4 }),
        ipv4,
        (forged, appended, socket) => {
          const header = [...forged, ...appended].join(", ")
          assert.strictEqual(clientNetwork(socket, header, appended.length), appended[0])
        }
      )
    )
  })

  const cases: ReadonlyArray<readonly [string, string | undefined, string | undefined, number, string | undefined]> = [
    ["no header: the socket's", "192.0.2.1", undefined, 2, "192.0.2.1"],
    ["fewer entries than hops: the first", "192.0.2.1", "198.51.100.7", 2, "198.51.100.7"],
    ["an entry that is not an address: the next nearer", "192.0.2.1", "unknown, 198.51.100.7", 2, "198.51.100.7"],
    ["none is one: the socket's", "192.0.2.1", "unknown", 1, "192.0.2.1"],
    ["a socket without an address: nothing", undefined, "198.51.100.7", 0, undefined]
  ]
  for (const [name, socket, header, hops, expected] of cases) {
    it(name, () => assert.strictEqual(clientNetwork(socket, header, hops), expected))
  }
})

describe("R43: a request through a proxy that is not trusted", () => {
  const entries = (count: number) => Array.from({ length: count }, (_, n) => `192.0.2.${n}`).join(", ")

  it("is known by more entries than there are trusted proxies", () => {
    const hops = fc.integer({ min: 0, max: 5 })
    fc.assert(
      fc.property(hops, fc.integer({ min: 1, max: 7 }), (trusted, count) => {
        assert.strictEqual(isFromUntrustedProxy({ "x-forwarded-for": entries(count) }, trusted), count > trusted)
        for (const name of ["forwarded", "via"]) {
          const headers = { "x-forwarded-for": entries(Math.max(1, trusted)), [name]: entries(count) }
          assert.strictEqual(isFromUntrustedProxy(headers, trusted), trusted === 0 || count > trusted)
        }
      })
    )
  })

  it("is known by a header of a proxy that does not say for whom it speaks", () => {
    for (const name of ["forwarded", "via", "x-real-ip", "x-forwarded-host", "x-forwarded-proto"]) {
      for (const hops of [0, 1, 2]) assert.isTrue(isFromUntrustedProxy({ [name]: "x" }, hops), name)
      assert.isFalse(isFromUntrustedProxy({ [name]: "x", "x-forwarded-for": "192.0.2.1" }, 1), name)
    }
  })

  it("is none without such a header", () => {
    for (const hops of [0, 1]) assert.isFalse(isFromUntrustedProxy({ host: "localhost", accept: "*/*" }, hops))
  })
})

describe("R65: the site that sign-ups of an address are counted by", () => {
  const siteOf = (address: string) => clientSite(networkOf(address) ?? assert.fail(address))

  it("is an IPv4 address, or the /48 of an IPv6 address with all of its subnets", () => {
    assert.strictEqual(siteOf("203.0.113.9"), "203.0.113.9")
    assert.strictEqual(siteOf("2001:db8:7:1::1"), "2001:db8:7::/48")
    const site = fc.tuple(fc.integer({ min: 0x2000, max: 0x3fff }), segment, segment)
    fc.assert(
      fc.property(site, segments(5), segments(5), (prefix, one, other) => {
        const write = (parts: ReadonlyArray<number>) => parts.map((part) => part.toString(16)).join(":")
        const [first, second] = [write([...prefix, ...one]), write([...prefix, ...other])]
        assert.strictEqual(siteOf(first), siteOf(second))
        const neighbor = write([prefix[0], prefix[1], prefix[2] ^ 1, ...one])
        assert.notStrictEqual(siteOf(neighbor), siteOf(first))
      })
    )
  })

  it("is none for this machine, and for text other than an address", () => {
    fc.assert(fc.property(octet, octet, octet, (...octets) => assert.isUndefined(siteOf(["127", ...octets].join(".")))))
    for (const text of ["::/64", "::1", "", "nobody", "unix:/run/x"]) assert.isUndefined(clientSite(text), text)
    assert.isUndefined(siteOf("::1"))
    assert.isUndefined(siteOf("::ffff:127.0.0.1"))
  })
})
