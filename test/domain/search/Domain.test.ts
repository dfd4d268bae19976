import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { matchDomains } from "../../../src/domain/search/Domain.ts"

const page = "https://docs.example.org/guide/start?x=1"

describe("matchDomains", () => {
  it.each([
    "example.org",
    "EXAMPLE.org",
    " docs.example.org ",
    "https://docs.example.org",
    "*.example.org",
    ".example.org",
    "*.org",
    "example.org/guide"
  ])("a page of docs.example.org is of %s", (domain) => {
    assert.isTrue(matchDomains(["other.example", domain])(page))
  })

  it.each(["", " ", "ample.org", "example.org.evil", "other.org", "www.docs.example.org", "example.org/blog", "["])(
    "a page of docs.example.org is not of %j",
    (domain) => {
      assert.isFalse(matchDomains(["other.example", domain])(page))
    }
  )

  it("names in other scripts are compared as addresses have them", () => {
    assert.isTrue(matchDomains(["münchen.de"])("https://xn--mnchen-3ya.de/"))
  })

  it("no text is an exception", () => {
    fc.assert(fc.property(fc.string(), fc.string(), (url, domain) => assert.isBoolean(matchDomains([domain])(url))))
  })
})
