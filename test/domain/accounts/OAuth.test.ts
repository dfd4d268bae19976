import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import {
  authorizationServer,
  canAuthorizeApps,
  canonicalResource,
  challengeOf,
  grantableScopes,
  isAllowedRedirect,
  isPrivateUseScheme,
  protectedResource,
  resourceQueryOf,
  scopeChallenge
} from "../../../src/domain/accounts/OAuth.ts"

const site = "https://quarry.example"

describe("what apps read about signing in", () => {
  it("the resource names its authorization server, and that one its endpoints under its own issuer", () => {
    const resource = protectedResource(site)
    const server = authorizationServer(site)
    assert.strictEqual(resource.resource, "https://quarry.example/mcp")
    assert.deepStrictEqual(resource.authorization_servers, [server.issuer])
    for (const [name, address] of Object.entries(server)) {
      if (name.endsWith("_endpoint")) assert.isTrue(String(address).startsWith(`${server.issuer}/oauth2/`), name)
    }
  })

  it("the endpoint's address is one resource, however a program writes it", () => {
    for (const address of [
      "https://quarry.example/mcp",
      "HTTPS://QUARRY.example:443/mcp/",
      "https://quarry.example/mcp?tools=search,fetch",
      "https://quarry.example/mcp/?x=%22&y"
    ]) {
      assert.strictEqual(canonicalResource(address, site), "https://quarry.example/mcp", address)
    }
    for (const address of [
      "http://quarry.example/mcp",
      "https://quarry.example:8443/mcp",
      "https://quarry.example/mcp//",
      "https://quarry.example/MCP",
      "https://quarry.example/mcp#",
      "https://user@quarry.example/mcp",
      "https://quarry.example.evil.test/mcp",
      "/mcp",
      ""
    ]) {
      assert.strictEqual(canonicalResource(address, site), address)
    }
    assert.strictEqual(
      canonicalResource("HTTP://LOCALHOST:4200/mcp", "http://localhost:4200"),
      "http://localhost:4200/mcp"
    )
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (address) => {
        const resource = canonicalResource(address, site)
        assert.strictEqual(canonicalResource(resource, site), resource)
      })
    )
  })

  it("repeats the query that was asked for, unless it could end a quoted string (RFC 9728)", () => {
    const query = "?tools=search,fetch"
    assert.strictEqual(resourceQueryOf(`/mcp${query}`), query)
    assert.strictEqual(protectedResource(site, query).resource, `https://quarry.example/mcp${query}`)
    assert.include(
      challengeOf(site, false, query) ?? "",
      'resource_metadata="https://quarry.example/.well-known/oauth-protected-resource/mcp?tools=search,fetch", '
    )
    assert.include(scopeChallenge(site, ["read"], query), 'oauth-protected-resource/mcp?tools=search,fetch"')
    for (const url of [
      "/mcp",
      "/mcp?",
      '/mcp?a="',
      "/mcp?a\\",
      "/mcp?a b",
      "/mcp?é",
      `/mcp?${"x".repeat(1000)}`,
      "/mcp#?a"
    ]) {
      assert.strictEqual(resourceQueryOf(url), "", url)
    }
  })

  it("offers S256 and nothing else, and no secret to keep", () => {
    const server = authorizationServer(site)
    assert.deepStrictEqual(server.code_challenge_methods_supported, ["S256"])
    assert.deepStrictEqual(server.token_endpoint_auth_methods_supported, ["none"])
    assert.deepStrictEqual(server.grant_types_supported, ["authorization_code", "refresh_token"])
  })

  it("a refusal says where to go, and whether there was a token", () => {
    const where =
      'resource_metadata="https://quarry.example/.well-known/oauth-protected-resource/mcp", scope="search read"'
    assert.strictEqual(challengeOf(site, false), `Bearer ${where}`)
    assert.strictEqual(challengeOf(site, true), `Bearer error="invalid_token", ${where}`)
    assert.isUndefined(challengeOf("http://quarry.example", true))
  })

  it("a token without a scope learns which scopes to ask for", () => {
    assert.strictEqual(
      scopeChallenge(site, ["search", "read"]),
      'Bearer error="insufficient_scope", scope="search read", ' +
        'resource_metadata="https://quarry.example/.well-known/oauth-protected-resource/mcp", ' +
        'error_description="the person must allow this first"'
    )
  })

  it("an app is offered the known scopes that it asks for, all without any, and always a refresh token", () => {
    assert.deepStrictEqual(grantableScopes(""), ["search", "read", "offline_access"])
    assert.deepStrictEqual(grantableScopes("read"), ["read", "offline_access"])
    assert.deepStrictEqual(grantableScopes("read openid search"), ["search", "read", "offline_access"])
    assert.deepStrictEqual(grantableScopes("openid readx"), ["search", "read", "offline_access"])
  })

  it("apps are let in over https, and on this machine", () => {
    for (const address of [
      site,
      "http://localhost:3000",
      "http://127.0.0.1:3000",
      "http://127.9.8.7",
      "http://[::1]:3000"
    ]) {
      assert.isTrue(canAuthorizeApps(address), address)
    }
    for (const address of [
      "http://quarry.example",
      "http://10.0.0.1:3000",
      "http://127.0.0.1.example",
      "http://localhost.example"
    ]) {
      assert.isFalse(canAuthorizeApps(address), address)
    }
  })

  it("an app may have a scheme of its own, and none that a browser or a system takes for its own", () => {
    for (const address of [
      "cursor://anysphere.cursor-retrieval/oauth/callback",
      "Cursor://anysphere.cursor-retrieval/oauth/callback",
      "vscode-insiders://publisher.extension",
      "com.example.app://callback?x=1"
    ]) {
      assert.isTrue(isPrivateUseScheme(address), address)
    }
    for (const address of [
      ..."about blob chrome chrome-extension data file http https intent javascript JavaScript moz-extension ms-msdt"
        .split(" ")
        .map((scheme) => `${scheme}://app/callback`),
      "search-ms://app/callback",
      "view-source://app/callback",
      "vbscript://app/callback",
      "wss://app/callback",
      "java\nscript://app/callback",
      " cursor://app/callback",
      "cursor:callback",
      "cursor:///callback",
      "cursor://user@app/callback",
      "cursor://app:80/callback",
      "cursor://app/callback#part",
      "cursor://app/call back",
      ..."smb ldap jnlp afp ssh git steam zoommtg slack ms-settings x-apple.systempreferences whatever a.b"
        .split(" ")
        .map((scheme) => `${scheme}://app/callback`),
      "cursor",
      ""
    ]) {
      assert.isFalse(isPrivateUseScheme(address), address)
    }
  })

  const known =
    /^(?:cherrystudio|claude|cursor|goose|jetbrains|kiro|lmstudio|raycast|trae|vscode|vscode-insiders|vscodium|warp|windsurf|zed):/i

  it("of all schemes an app may be answered by https, http to this machine, known agents and turned-around domains", () => {
    const scheme = fc.oneof(
      fc.constantFrom(..."http https file data javascript smb ldap jnlp ms-msdt search-ms cursor x-apple.a".split(" ")),
      fc.constantFrom("com.example.app", "io.github.someone", "app.example", "dev.x-y"),
      fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9+.-]{0,8}$/)
    )
    const rest = fc.oneof(
      fc.constantFrom("://app/callback", ":/callback", ":callback", "://127.0.0.1:1/x", "://[::1]/", "://localhost"),
      fc.string()
    )
    fc.assert(
      fc.property(scheme, rest, (scheme, rest) => {
        const address = scheme + rest
        if (!isAllowedRedirect(address)) return
        const { hostname, protocol } = new URL(address)
        if (protocol === "https:" || known.test(address)) return
        if (protocol === "http:") return assert.match(hostname, /^(?:localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/)
        assert.match(protocol, /^[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+:$/)
        assert.notMatch(protocol, /^(?:ms-|x-apple|web\+)/)
      }),
      { numRuns: 20_000 }
    )
  })

  for (const address of [
    "com.example.app:/x",
    "io.github.someone://callback",
    "https://app.example/x",
    "http://[::1]:9/x"
  ]) {
    it(`an app may be answered at ${address}`, () => assert.isTrue(isAllowedRedirect(address)))
  }
})
