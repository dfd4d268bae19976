import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { presentedKey } from "../../../src/domain/compat/CompatKey.ts"

const none = { authorization: undefined, apiKey: undefined, subscriptionToken: undefined }

const basic = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`

const key = fc.stringMatching(/^sk_live_[0-9A-Za-z]{49}$/)
const header = fc.option(fc.string(), { nil: undefined })

describe("presentedKey", () => {
  it("R43: is the first header that is present, and undefined without one", () => {
    assert.isUndefined(presentedKey(none))
    fc.assert(
      fc.property(key, header, header, (text, apiKey, subscriptionToken) => {
        assert.strictEqual(presentedKey({ authorization: `Bearer ${text}`, apiKey, subscriptionToken }), text)
        assert.strictEqual(presentedKey({ ...none, apiKey: text, subscriptionToken }), text)
        assert.strictEqual(presentedKey({ ...none, subscriptionToken: text }), text)
      })
    )
  })

  it("R43: a Basic credential has the key as its user or its password", () => {
    fc.assert(
      fc.property(key, fc.stringMatching(/^[^:]{0,20}$/), (text, other) => {
        fc.pre(!other.startsWith("sk_"))
        assert.strictEqual(presentedKey({ ...none, authorization: basic(text, other) }), text)
        assert.strictEqual(presentedKey({ ...none, authorization: basic(other, text) }), text)
      })
    )
  })

  it("R43: an Authorization of any other kind presents no key, and hides the other headers", () => {
    fc.assert(
      fc.property(fc.string(), key, (authorization, apiKey) => {
        fc.pre(!/^(?:bearer|basic) /i.test(authorization))
        assert.strictEqual(presentedKey({ ...none, authorization, apiKey }), "")
      })
    )
  })
})
