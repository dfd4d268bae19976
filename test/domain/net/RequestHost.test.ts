import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { isTrustedHost } from "../../../src/domain/net/RequestHost.ts"

const names = new Set(["quarry.example.com"])
const port = fc.constantFrom("", ":", ":80", ":9464")

describe("R43, R72: the host that a request names", () => {
  it("is trusted where it is an address, with any port", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.ipV4(),
          fc.ipV6().map((ip) => `[${ip}]`)
        ),
        port,
        (address, port) => {
          assert.isTrue(isTrustedHost(`${address}${port}`, names), address)
        }
      )
    )
  })

  it("is trusted where it has no dot, and where the operator named it, in any letter case", () => {
    for (const host of ["localhost", "LOCALHOST:9464", "quarry", "quarry-0:3000", "Quarry.Example.com:443"]) {
      assert.isTrue(isTrustedHost(host, names), host)
    }
  })

  it("is not trusted where it is any other name of the internet", () => {
    fc.assert(
      fc.property(fc.domain(), port, (domain, port) => assert.isFalse(isTrustedHost(`${domain}${port}`, names)))
    )
  })

  it.each([
    "",
    ":80",
    "evil.example.com",
    "quarry.example.com.",
    "quarry.example.com.evil.example",
    "evil.quarry.example.com",
    "localhost.",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "127.1",
    "quarry.local",
    "quarry.internal",
    "host.docker.internal",
    "[::1].evil.example",
    "[::1",
    "[quarry]",
    "::1",
    "evil.example@localhost",
    "localhost/evil.example",
    "localhost, evil.example",
    "localhost evil.example",
    "localhost:port",
    "evil.example\\@localhost"
  ])("is not trusted: %j", (host) => {
    assert.isFalse(isTrustedHost(host, names))
  })
})
