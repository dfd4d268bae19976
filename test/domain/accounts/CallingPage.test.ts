import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { hidesCallingPage, isCrossOrigin, isOwnPage } from "../../../src/domain/accounts/CallingPage.ts"

const own = "https://quarry.test"

const origin = fc.option(
  fc.oneof(fc.constantFrom(own, "null", "", `${own}/`, `${own}:443`, own.toUpperCase()), fc.webUrl(), fc.string()),
  { nil: undefined }
)
const site = fc.option(
  fc.oneof(fc.constantFrom("same-origin", "same-site", "cross-site", "none", "", "Same-Origin"), fc.string()),
  { nil: undefined }
)
const page = fc.record({ origin, site })

describe("R25: the page that a request comes from", () => {
  it("is elsewhere exactly when one of the two headers is there and says so", () => {
    fc.assert(
      fc.property(page, (page) => {
        const originFits = page.origin === undefined || page.origin === own
        const siteFits = [undefined, "same-origin", "none"].includes(page.site)
        assert.strictEqual(isCrossOrigin(page, own), !(originFits && siteFits))
      })
    )
  })

  it("is never both ours and elsewhere, and neither without an origin", () => {
    fc.assert(fc.property(page, (page) => assert.isFalse(isOwnPage(page, own) && isCrossOrigin(page, own))))
    const silent = { origin: undefined, site: undefined }
    assert.deepStrictEqual([isOwnPage(silent, own), isCrossOrigin(silent, own)], [false, false])
  })

  it("is ours by either header, and a person's own request is not a page's", () => {
    assert.isTrue(isOwnPage({ origin: own, site: undefined }, own))
    assert.isTrue(isOwnPage({ origin: undefined, site: "same-origin" }, own))
    assert.isFalse(isOwnPage({ origin: undefined, site: "none" }, own))
  })

  it("a header more never turns a refusal into an acceptance", () => {
    fc.assert(
      fc.property(page, ({ origin, site }) => {
        if (isCrossOrigin({ origin, site: undefined }, own) || isCrossOrigin({ origin: undefined, site }, own)) {
          assert.isTrue(isCrossOrigin({ origin, site }, own))
        }
      })
    )
  })

  it.each([
    ["https://quarry.test", false],
    ["https://10.0.0.1", false],
    ["http://localhost:3000", false],
    ["http://127.8.9.1", false],
    ["http://[::1]:3000", false],
    ["http://quarry.test", true],
    ["http://quarry", true],
    ["http://10.0.0.1:3000", true],
    ["http://[2001:db8::1]", true],
    ["http://127.0.0.1.example.com", true]
  ])("is hidden by browsers over plain http, unless the server is this machine: %s %s", (origin, isHidden) => {
    assert.strictEqual(hidesCallingPage(origin), isHidden)
  })
})
