import { assert, describe, it } from "@effect/vitest"
import { isLoopbackHost, isPrivateNetwork, parseNetwork } from "../../../src/domain/net/Network.ts"

describe("isPrivateNetwork", () => {
  it.each(["127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.1.7", "100.64.0.0/10", "::1", "fd00::/8"])(
    "R43: %s is",
    (text) => {
      assert.isTrue(isPrivateNetwork(parseNetwork(text) ?? assert.fail()))
    }
  )

  it.each(["0.0.0.0/0", "::/0", "172.0.0.0/8", "8.8.8.8", "172.32.0.1", "2001:db8::/32"])("R43: %s is not", (text) => {
    assert.isFalse(isPrivateNetwork(parseNetwork(text) ?? assert.fail()))
  })

  it.each(["", "localhost", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0"])("%j is not a network", (text) => {
    assert.isUndefined(parseNetwork(text))
  })
})

describe("isLoopbackHost", () => {
  it("R43: is true for this machine alone", () => {
    for (const host of ["127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST"]) assert.isTrue(isLoopbackHost(host))
    for (const host of ["0.0.0.0", "::", "10.0.0.1", "localhost.example"]) assert.isFalse(isLoopbackHost(host))
  })
})
