import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { documentUrl, readClientDocument, verifiedHostOf } from "../../../src/domain/accounts/ClientMetadata.ts"

const address = "https://app.example/oauth/client.json"
const redirect = "https://app.example/callback"

const document = (changes: object = {}): string =>
  JSON.stringify({ client_id: address, client_name: "An App", redirect_uris: [redirect], ...changes })

const issueOf = (text: string) => {
  const read = readClientDocument(address, text)
  return Result.isFailure(read) ? read.failure.error : undefined
}

describe("a client ID that is the address of a metadata document", () => {
  it("is https in its normal form, with a path and without credentials or fragment", () => {
    for (const id of [
      address,
      "https://app.example/client",
      "https://app.example:8443/client?v=1",
      "https://[2001:db8::1]/client",
      "https://app.example/"
    ]) {
      assert.strictEqual(documentUrl(id)?.href, id)
    }
    for (const id of [
      "",
      "app",
      "http://app.example/client",
      "https://app.example",
      "https://user@app.example/client",
      "https://user:word@app.example/client",
      "https://app.example/client#part",
      "https://app.example/client#",
      "https://app.example/a/../client",
      "https://app.example/./client",
      "https://app.example/%2e%2e/client",
      "https://APP.example/client",
      "https://app.example:443/client",
      "https://app.example/a b",
      "https://app.example/a\n",
      "https:app.example/client",
      "https:///app.example/client",
      "https://app.example\\client",
      `https://app.example/${"x".repeat(500)}`
    ]) {
      assert.isUndefined(documentUrl(id), id)
    }
    assert.strictEqual(verifiedHostOf("https://app.example:8443/client"), "app.example:8443")
    assert.isUndefined(verifiedHostOf("kXqBvmTqLhDwJcJrUvNfCzYgPdTsAeIo"))
  })
})

describe("a metadata document", () => {
  it("names itself, its redirects, and a name that people can read", () => {
    const read = (changes?: object) => Result.getOrThrow(readClientDocument(address, document(changes)))
    assert.deepStrictEqual(read(), { name: "An App", redirectUris: [redirect] })
    assert.strictEqual(read({ client_name: "An\u202e \n App\u0000" }).name, "An App")
    assert.isUndefined(read({ client_name: "\u200b" }).name)
    assert.isUndefined(read({ client_name: 5 }).name)
    assert.deepStrictEqual(read({ token_endpoint_auth_method: "none", logo_uri: "javascript:x" }).redirectUris, [
      redirect
    ])
  })

  it("R78: is accepted if the app can work without a secret, beside any other method", () => {
    for (const changes of [
      {
        token_endpoint_auth_method: "private_key_jwt",
        token_endpoint_auth_methods_supported: ["none", "private_key_jwt"]
      },
      { token_endpoint_auth_method: "client_secret_basic", token_endpoint_auth_methods_supported: ["none"] },
      { token_endpoint_auth_method: null, jwks_uri: "https://app.example/keys" },
      { token_endpoint_auth_methods_supported: ["private_key_jwt"] }
    ]) {
      assert.isUndefined(issueOf(document(changes)), JSON.stringify(changes))
    }
  })

  it("of another app, with a secret or with another kind of proof is not accepted", () => {
    for (const text of [
      "",
      "[]",
      "null",
      "<html>",
      document({ client_id: undefined }),
      document({ client_id: `${address}/` }),
      document({ client_id: "https://other.example/oauth/client.json" }),
      document({ client_secret: "x" }),
      document({ token_endpoint_auth_method: "client_secret_basic" }),
      document({ token_endpoint_auth_method: "private_key_jwt" }),
      document({ token_endpoint_auth_method: "private_key_jwt", token_endpoint_auth_methods_supported: "none" }),
      document({
        token_endpoint_auth_method: "private_key_jwt",
        token_endpoint_auth_methods_supported: ["private_key_jwt", ["none"]]
      })
    ]) {
      assert.strictEqual(issueOf(text), "invalid_client_metadata", text)
    }
  })

  it("has the redirects that a registration may have", () => {
    for (const redirect_uris of [undefined, [], redirect, [1], ["http://app.example/callback"], ["javascript:x"]]) {
      assert.strictEqual(issueOf(document({ redirect_uris })), "invalid_redirect_uri", String(redirect_uris))
    }
    assert.isUndefined(issueOf(document({ redirect_uris: ["http://localhost/callback", "cursor://callback/"] })))
  })
})
