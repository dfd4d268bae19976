import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { mailboxOf, normalizeEmail } from "../../../src/domain/accounts/emailAddress.ts"
import { addresses } from "../../support/api/addresses.ts"

describe("email addresses", () => {
  it("is trimmed and lower-cased", () => {
    assert.strictEqual(normalizeEmail("  Ada@Example.COM\n"), "ada@example.com")
    assert.strictEqual(normalizeEmail("ada@example.com"), "ada@example.com")
  })

  it("keeps what tells two mailboxes apart", () => {
    assert.notStrictEqual(normalizeEmail("a.da+x@example.com"), normalizeEmail("ada@example.com"))
  })

  it("normalizing is idempotent, and the same for either case and any margin", () => {
    fc.assert(
      fc.property(fc.emailAddress(), fc.constantFrom("", " ", "\t\n"), (email, margin) => {
        const once = normalizeEmail(email)
        assert.strictEqual(normalizeEmail(once), once)
        assert.strictEqual(normalizeEmail(margin + email.toUpperCase() + margin), once)
      })
    )
  })
})

describe("R32: the mailbox a trial belongs to", () => {
  it("has no tag, and no dots where the provider ignores them", () => {
    for (const [address, mailbox] of [
      ["ada@example.com", "ada@example.com"],
      ["ada+1@example.com", "ada@example.com"],
      ["a.da+1+2@example.com", "a.da@example.com"],
      ["a.d.a+x@gmail.com", "ada@gmail.com"],
      ["a.d.a@googlemail.com", "ada@gmail.com"],
      ["a.da@mail.gmail.com", "a.da@mail.gmail.com"],
      ["+1@example.com", "+1@example.com"],
      [".@gmail.com", ".@gmail.com"],
      ["a@b+c@example.com", "a@b@example.com"],
      ["nobody", "nobody"]
    ] as const) {
      assert.strictEqual(mailboxOf(address), mailbox, address)
    }
  })

  it("is the same for every address of a mailbox, and keeps its domain's other mailboxes apart", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z]{1,8}$/), fc.stringMatching(/^[a-z0-9.+]{0,8}$/), (name, tag) => {
        assert.strictEqual(mailboxOf(`${name}+${tag}@example.com`), `${name}@example.com`)
        assert.strictEqual(mailboxOf(`${[...name].join(".")}+${tag}@googlemail.com`), `${name}@gmail.com`)
        assert.notStrictEqual(mailboxOf(`${name}x@example.com`), mailboxOf(`${name}@example.com`))
      })
    )
  })

  it("of a mailbox is the mailbox itself", () => {
    fc.assert(fc.property(addresses, (address) => mailboxOf(mailboxOf(address)) === mailboxOf(address)))
  })
})
