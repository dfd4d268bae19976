import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { normalizeEmail } from "../../src/domain/emailAddress.ts"

describe("R32: the email address a trial belongs to", () => {
  it("is trimmed and lower-cased", () => {
    assert.strictEqual(normalizeEmail("  Ada@Example.COM\n"), "ada@example.com")
    assert.strictEqual(normalizeEmail("ada@example.com"), "ada@example.com")
  })

  it("keeps what tells two mailboxes apart", () => {
    assert.notStrictEqual(normalizeEmail("a.da+x@example.com"), normalizeEmail("ada@example.com"))
  })

  it("normalising is idempotent, and the same for either case and any margin", () => {
    fc.assert(
      fc.property(fc.emailAddress(), fc.constantFrom("", " ", "\t\n"), (email, margin) => {
        const once = normalizeEmail(email)
        assert.strictEqual(normalizeEmail(once), once)
        assert.strictEqual(normalizeEmail(margin + email.toUpperCase() + margin), once)
      })
    )
  })
})
