import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import {
  bearerToken,
  cookieValues,
  credentialKind,
  isMarketplaceUser
} from "../../../src/domain/accounts/Credential.ts"

describe("R22: which credential is judged", () => {
  const text = fc.option(fc.string(), { nil: undefined })

  it("the demo's header beside anything else is refused, and so are the marketplace's beside Authorization", () => {
    const presented = fc.record({
      authorization: text,
      marketplaceSecret: text,
      marketplaceUser: text,
      sessionCookies: fc.array(fc.string(), { maxLength: 2 }),
      demoOrigin: text
    })
    fc.assert(
      fc.property(presented, (presented) => {
        const marketplace = presented.marketplaceSecret !== undefined || presented.marketplaceUser !== undefined
        const bearer = presented.authorization !== undefined
        const others = bearer || marketplace || presented.sessionCookies.length > 0
        const refused = presented.demoOrigin === undefined ? (bearer && marketplace) || !others : others
        assert.strictEqual(credentialKind(presented) === undefined, refused)
      })
    )
  })
})

describe("the parts of credentials", () => {
  it("a bearer token is one word after the scheme, in any letter case", () => {
    const tokens = ["Bearer a", "bearer a", "BEARER  a"].map(bearerToken)
    assert.deepStrictEqual(tokens, ["a", "a", "a"])
    for (const other of ["", "Bearer", "Bearer ", "Basic a", "Bearer a b", "Bearera", "a"]) {
      assert.isUndefined(bearerToken(other), other)
    }
  })

  it("a cookie's values are those of exactly its name, as they were sent", () => {
    const header = "a=1; token=x%3D; mytoken=no; token =no; __Secure-token=no; token=second; token"
    assert.deepStrictEqual(cookieValues(header, "token"), ["x%3D", "second"])
    assert.deepStrictEqual(cookieValues(undefined, "token"), [])
    assert.deepStrictEqual(cookieValues("token=", "token"), [""])
  })

  it("R23: a subscriber's name has 1 to 256 characters, none of them a control character or a comma", () => {
    for (const name of ["a", "Ada Lovelace", "ada@example.com", "ÃÀ", "x".repeat(256)]) {
      assert.isTrue(isMarketplaceUser(name), name)
    }
    for (const name of ["", "x".repeat(257), "a,b", "a\tb", "a\0b", "a\x7fb"]) {
      assert.isFalse(isMarketplaceUser(name), name)
    }
  })
})
