import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { ownPath } from "../../../src/domain/requests/ownPath.ts"

const site = "https://quarry.example"

const parts = [..."/\\.:@?#%\t\n ", "//", "..", "%2e", "%2f", "%5c", "https:", "javascript:", "blob:", "evil.example"]

const address = fc.oneof(
  fc
    .array(fc.oneof(fc.constantFrom(...parts), fc.string({ maxLength: 3 })), { maxLength: 8 })
    .map((all) => all.join("")),
  fc.webUrl(),
  fc.string()
)

/** The URL that a browser opens for a `Location` header of the site. */
const reached = (location: string, page: string): URL => new URL(location, page)

describe("ownPath", () => {
  it("a browser that follows any address stays on this origin, at a path with one slash first", () => {
    fc.assert(
      fc.property(address, (text) => {
        const path = ownPath(text, site)
        if (path === undefined) return
        assert.match(path, /^\/(?![/\\])/)
        assert.strictEqual(reached(path, `${site}/api/auth/verify-email`).origin, site)
        assert.notMatch(reached(path, site).pathname, /^\/\//)
        // The function is idempotent.
        assert.strictEqual(ownPath(path, site), path)
      }),
      { numRuns: 20_000 }
    )
  })

  for (const [text, path] of [
    ["/dashboard?a=b#c", "/dashboard?a=b#c"],
    ["https://quarry.example/dashboard", "/dashboard"],
    ["/.//evil.example", "/evil.example"],
    ["/../..//evil.example", "/evil.example"],
    ["/%2e//evil.example", "/evil.example"],
    ["dashboard", "/dashboard"],
    ["", "/"],
    ["//evil.example", undefined],
    ["/\\evil.example", undefined],
    ["\t//evil.example", undefined],
    ["https://evil.example/", undefined],
    ["https://quarry.example.evil.example/", undefined],
    ["https://quarry.example:8443/", undefined],
    ["http://quarry.example/", undefined],
    ["blob:https://quarry.example/x", undefined],
    ["javascript:alert(1)", undefined],
    ["https://", undefined]
  ] as const) {
    it(`${JSON.stringify(text)} is ${path}`, () => assert.strictEqual(ownPath(text, site), path))
  }
})
