import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import type { CredentialHeaders, CredentialKind } from "../../../src/domain/accounts/Credential.ts"
import { strayKeyHeaders, unacceptedCredential } from "../../../src/domain/accounts/unacceptedCredential.ts"

const nothing: CredentialHeaders = {
  authorization: undefined,
  marketplaceSecret: undefined,
  marketplaceUser: undefined,
  sessionCookies: [],
  demoOrigin: undefined
}
const search: ReadonlyArray<CredentialKind> = ["key", "oauth", "session", "marketplace", "demo"]
const dashboard: ReadonlyArray<CredentialKind> = ["session"]

describe("R71: a 401 says which case it is", () => {
  for (const [name, sent, accepted, stray, message] of [
    ["no credential", {}, search, undefined, /^No credential was sent\. Send an API key as `Authorization: Bearer /],
    ["no session", {}, dashboard, undefined, /^This route needs a dashboard session\. Sign in/],
    ["a key without Bearer", { authorization: "sk_live_a" }, search, undefined, /^`Bearer ` is missing before the key/],
    ["Bearer without a token", { authorization: "Bearer " }, search, undefined, /must be `Bearer`/],
    ["another scheme", { authorization: "Basic YTpi" }, search, undefined, /must be `Bearer`/],
    ["a key in another header", {}, search, "x-api-key", /^This route does not read keys from `x-api-key`\. Send/],
    [
      "a key on a session route",
      { authorization: "Bearer sk_live_a" },
      dashboard,
      undefined,
      /does not accept API keys/
    ],
    ["the same in another header", {}, dashboard, "x-api-key", /does not accept API keys/],
    [
      "a key that is not accepted",
      { authorization: "Bearer sk_live_a" },
      search,
      undefined,
      /^The credential was not acc/
    ],
    ["a session that has ended", { sessionCookies: ["a"] }, search, undefined, /^The credential was not accepted/],
    ["a demo that is closed", { demoOrigin: "https://a.test" }, search, undefined, /^The credential was not accepted/]
  ] as const) {
    it(name, () => assert.match(unacceptedCredential({ ...nothing, ...sent }, accepted, stray).message, message))
  }

  it("depends on nothing but the form: two keys of one form get the same text, without a part of either", () => {
    const key = fc.stringMatching(/^sk_live_[0-9A-Za-z]{49}$/)
    fc.assert(
      fc.property(key, key, fc.constantFrom(undefined, ...strayKeyHeaders), (one, other, stray) => {
        const messageOf = (secret: string) =>
          unacceptedCredential({ ...nothing, authorization: `Bearer ${secret}` }, search, stray).message
        assert.strictEqual(messageOf(one), messageOf(other))
        assert.notInclude(messageOf(one), one.slice(8))
      })
    )
  })
})
