import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, type Vitest } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import type { StoreClock } from "../../../../src/services/StoreClock.ts"
import { maxCarriedCharacters } from "../../../../src/site/signIn/destination.ts"
import * as Apps from "../../../support/accounts/Apps.ts"
import { dumpOf, makeBrowser, makeReplica, password, type Replica } from "../../../support/accounts/SignIn.ts"
import { makeEmail } from "../../../support/api/searches.ts"

type Services = Accounts | Ids | SqlClient.SqlClient | StoreClock

const makeSite = (options = {}) => makeReplica({ baseUrl: "https://quarry.test", ...options })

const aPerson = Effect.fnUntraced(function* (replica: Replica) {
  const email = yield* makeEmail
  const browser = makeBrowser()
  yield* browser.signUp(replica, email)
  const { account, personId } = yield* browser.whoAmI(replica)
  return { email, browser, account, inAccount: { accountId: account.id, personId } }
})

const whoIs = ({ accessTokens }: Replica, token: string) => accessTokens.authenticate(Redacted.make(token))

const works = (replica: Replica, token: string) => Effect.isSuccess(whoIs(replica, token))

/** A site, a person and an app that they let in. */
const aConnection = Effect.gen(function* () {
  const replica = yield* makeSite()
  const person = yield* aPerson(replica)
  return { replica, ...person, ...(yield* Apps.letIn(replica, person.browser)) }
})

/** Ways to end everything of a person, each on a different replica than the one asked afterwards. */
const endings = {
  "signing out everywhere": Effect.fnUntraced(function* (other: Replica, browser: Apps.Browser) {
    yield* browser.post(other, "/revoke-sessions", {})
  }),
  "a changed password": Effect.fnUntraced(function* (other: Replica, browser: Apps.Browser) {
    const words = { currentPassword: password, newPassword: "another correct horse" }
    assert.strictEqual((yield* browser.post(other, "/change-password", words)).status, 200)
  }),
  "a reset password": Effect.fnUntraced(function* (other: Replica, _browser: Apps.Browser, email: string) {
    const stranger = makeBrowser()
    yield* stranger.post(other, "/request-password-reset", { email, redirectTo: "/dashboard" })
    const { token } = yield* other.nextLink
    yield* stranger.post(other, "/reset-password", { token, newPassword: "another correct horse" })
  }),
  "a removed account": Effect.fnUntraced(function* (
    other: Replica,
    _browser: Apps.Browser,
    _email: string,
    accountId: string
  ) {
    yield* other.sessions.forget(accountId)
  })
}

/** Lets time pass since the uses of an app's refresh tokens. */
const age = (app: string, seconds: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      update auth_refresh_tokens set rotated_at = rotated_at - ${seconds} * interval '1 second',
        revoked_at = revoked_at - ${seconds} * interval '1 second' where client_id = ${app}`
  )

const hours = (count: number) => `${count} hours`

/** Lets time pass since an app was registered and used. */
const leaveUnused = (app: string, time: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      update auth_apps set created_at = created_at - ${time}::interval, updated_at = updated_at - ${time}::interval,
        used_at = used_at - ${time}::interval
      where client_id = ${app}`
  )

/** What letting apps in promises, over any database. */
export const appsConformance = (it: Vitest.MethodsNonLive<Services>): void => {
  it.effect("an app registers, a person lets it in, and its token acts for their account on every replica", () =>
    Effect.gen(function* () {
      const { account, browser, replica, tokens } = yield* aConnection
      assert.deepStrictEqual(yield* whoIs(replica, tokens.access), {
        _tag: "oauth",
        account,
        personId: (yield* browser.whoAmI(replica)).personId,
        scopes: ["search", "read"],
        bounds: undefined
      })
      assert.isTrue(yield* works(yield* makeSite(), tokens.access))
      assert.match(tokens.access, /^quarry_at_[A-Za-z]{32}$/)
      for (const other of [tokens.refresh, `${tokens.access}x`, tokens.access.toUpperCase(), ""]) {
        assert.isFalse(yield* works(replica, other), other)
      }
    })
  )

  it.effect("a person sees the apps that they let in, and ends one by one, at every replica", () =>
    Effect.gen(function* () {
      const { app, browser, inAccount, replica, tokens } = yield* aConnection
      const second = yield* Apps.letIn(replica, browser)
      const other = yield* makeSite()
      const connected = yield* other.connectedApps.list(inAccount)
      assert.sameMembers(
        connected.map(({ id }) => id),
        [app, second.app]
      )
      for (const { connectedAt, name, renewedAt } of connected) {
        assert.strictEqual(name, "An App")
        assert.isAtMost(connectedAt, renewedAt)
      }
      yield* other.connectedApps.end(inAccount, app)
      assert.isFalse(yield* works(replica, tokens.access))
      assert.isTrue(yield* works(replica, second.tokens.access))
      assert.deepStrictEqual(
        (yield* replica.connectedApps.list(inAccount)).map(({ id }) => id),
        [second.app]
      )
      assert.strictEqual((yield* Apps.refresh(replica, app, tokens.refresh)).status, 400)
      const sql = yield* SqlClient.SqlClient
      const recorded = yield* sql<{ readonly type: string; readonly actor: string | null; readonly app: string }>`
        select type, actor, changes ->> 'client_id' as app from account_events
        where account_id = ${inAccount.accountId} and starts_with(type, 'app.') order by ordinal`
      // The end has no actor, because no request sent it here.
      assert.deepStrictEqual(
        recorded.map(({ actor, app, type }) => [type, app, actor]),
        [
          ["app.connected", app, inAccount.personId],
          ["app.connected", second.app, inAccount.personId],
          ["app.disconnected", app, null]
        ]
      )
    })
  )

  it.effect("nobody sees or ends the apps of another account", () =>
    Effect.gen(function* () {
      const { app, replica, tokens } = yield* aConnection
      const stranger = yield* aPerson(replica)
      assert.deepStrictEqual(yield* replica.connectedApps.list(stranger.inAccount), [])
      const refused = yield* Effect.flip(replica.connectedApps.end(stranger.inAccount, app))
      assert.strictEqual(refused._tag, "not_found")
      assert.isTrue(yield* works(replica, tokens.access))
    })
  )

  it.effect("a person is asked each time, signed in and having allowed the app before", () =>
    Effect.gen(function* () {
      const { app, browser, replica } = yield* aConnection
      const query = Apps.authorizationQuery(replica, app, Apps.makeProof().challenge, { prompt: "none" })
      assert.match(yield* Apps.authorize(replica, browser, query), /^\/oauth\/consent\?/)
      assert.match(yield* Apps.authorize(replica, makeBrowser(), query), /^\/oauth\/sign-in\?/)
    })
  )

  it.effect("denying an app sends it back without a code", () =>
    Effect.gen(function* () {
      const { app, browser, replica } = yield* aConnection
      const asked = yield* Apps.authorize(
        replica,
        browser,
        Apps.authorizationQuery(replica, app, Apps.makeProof().challenge)
      )
      const signed = asked.slice(asked.indexOf("?") + 1)
      const { json } = yield* browser.post(replica, "/oauth2/consent", { accept: false, oauth_query: signed })
      const { searchParams } = new URL(json.url)
      assert.deepStrictEqual([searchParams.get("error"), searchParams.get("state")], ["access_denied", "a state"])
      assert.isNull(searchParams.get("code"))
    })
  )

  it.effect("a request is decided once, on every replica, and a decision that failed does not count", () =>
    Effect.gen(function* () {
      const { app, browser, replica } = yield* aConnection
      const other = yield* makeSite()
      for (const first of [true, false]) {
        const query = Apps.authorizationQuery(replica, app, Apps.makeProof().challenge)
        const asked = yield* Apps.authorize(replica, browser, query)
        const signed = asked.slice(asked.indexOf("?") + 1)
        const decide = (site: Replica, accept: boolean, by = browser) =>
          Effect.map(by.post(site, "/oauth2/consent", { accept, oauth_query: signed }), ({ status }) => status)
        const isShown = Effect.isSuccess(
          other.authorizationRequests.describe(
            { address: "192.0.2.1", cookies: undefined, userAgent: undefined },
            signed
          )
        )
        assert.strictEqual(yield* decide(replica, first, makeBrowser()), 401)
        assert.isTrue(yield* isShown)
        const decisions = [decide(replica, first), decide(other, first), decide(other, !first)]
        const statuses = yield* Effect.all(decisions, { concurrency: "unbounded" })
        assert.deepStrictEqual(statuses.toSorted(), [200, 400, 400])
        assert.strictEqual(yield* decide(replica, !first), 400)
        assert.isFalse(yield* isShown)
      }
    })
  )

  it.effect("consent takes a person's own session, a page of this deployment and a request that was signed here", () =>
    Effect.gen(function* () {
      const { app, browser, replica } = yield* aConnection
      const asked = yield* Apps.authorize(
        replica,
        browser,
        Apps.authorizationQuery(replica, app, Apps.makeProof().challenge)
      )
      const signed = asked.slice(asked.indexOf("?") + 1)
      const body = { accept: true, oauth_query: signed }
      const elsewhere = { origin: "https://elsewhere.test" }
      assert.strictEqual((yield* browser.post(replica, "/oauth2/consent", body, elsewhere)).status, 403)
      assert.strictEqual((yield* makeBrowser().post(replica, "/oauth2/consent", body)).status, 401)
      const bent = signed.replace("33418", "33419")
      const refused = yield* browser.post(replica, "/oauth2/consent", { accept: true, oauth_query: bent })
      assert.deepStrictEqual([refused.status, refused.json.error], [400, "invalid_signature"])
      const otherSite = yield* browser.post(yield* makeSite({ secret: "x".repeat(40) }), "/oauth2/consent", body)
      assert.notStrictEqual(otherSite.status, 200)
    })
  )

  it.effect("the longest request that is carried through a sign-in at a provider fits in a cookie", () =>
    Effect.gen(function* () {
      const github = { clientId: "id", clientSecret: Redacted.make("secret") }
      const replica = yield* makeSite({ github })
      const callbackURL = `/oauth/consent?${"x".repeat(maxCarriedCharacters)}`
      const { headers, status } = yield* makeBrowser().post(replica, "/sign-in/social", {
        provider: "github",
        callbackURL
      })
      assert.strictEqual(status, 200)
      for (const cookie of headers.getSetCookie()) assert.isBelow(cookie.length, 4096)
    })
  )

  it.effect("a code takes proof by S256: none, plain and a wrong one are refused", () =>
    Effect.gen(function* () {
      const { app, browser, replica } = yield* aConnection
      const { challenge, verifier } = Apps.makeProof()
      for (const changes of [
        { code_challenge: undefined, code_challenge_method: undefined },
        { code_challenge: verifier, code_challenge_method: "plain" },
        { code_challenge_method: undefined }
      ]) {
        const location = yield* Apps.authorize(
          replica,
          browser,
          Apps.authorizationQuery(replica, app, challenge, changes)
        )
        assert.strictEqual(new URL(location).searchParams.get("error"), "invalid_request", JSON.stringify(changes))
      }
      for (const code_verifier of [Apps.makeProof().verifier, challenge, ""]) {
        const { redeem } = yield* Apps.makeCode(replica, browser, app)
        const refused = yield* redeem({ code_verifier })
        const error = code_verifier === "" ? "invalid_request" : "invalid_grant"
        assert.deepStrictEqual([refused.status, refused.json.error], [400, error])
        assert.strictEqual((yield* redeem()).status, code_verifier === "" ? 200 : 400)
      }
    })
  )

  it.effect("a link with an app's wrong request leads to a page of ours, and never to the app's address", () =>
    Effect.gen(function* () {
      const replica = yield* makeSite()
      const { browser } = yield* aPerson(replica)
      const evil = "https://evil.example/landing"
      const app = String((yield* Apps.register(replica, { redirect_uris: [evil] })).json.client_id)
      const { challenge } = Apps.makeProof()
      for (const changes of [
        { code_challenge: undefined, code_challenge_method: undefined },
        { code_challenge_method: "plain" },
        { response_type: "token" },
        { response_type: undefined },
        { response_type: "" },
        { resource: "https://elsewhere.test/mcp" },
        { resource: "nonsense" },
        { resource: "https://quarry.test/mcp#part" },
        { state: "x".repeat(3000) },
        { state: ["a", "b"] },
        { redirect_uri: [evil, evil] },
        { scope: "everything" },
        { prompt: "none" },
        { prompt: "none login" },
        { request: "x" },
        { request_uri: "https://evil.example/request" },
        { response_mode: "form_post" },
        { claims: "{" },
        { max_age: "-1" },
        { dpop_jkt: "x" }
      ]) {
        const query = Apps.authorizationQuery(replica, app, challenge, { redirect_uri: evil, ...changes })
        for (const visitor of [browser, makeBrowser()]) {
          for (const accept of ["text/html", "application/json"]) {
            const request = new Request(`${replica.baseUrl}/api/auth/oauth2/authorize?${query}`, {
              headers: {
                accept,
                "sec-fetch-mode": accept === "text/html" ? "navigate" : "cors",
                cookie: [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ")
              }
            })
            const answer = yield* replica.routes.handle(request, Apps.nextAddress())
            const shown = JSON.stringify(changes).slice(0, 100)
            const location = answer.headers.get("location") ?? assert.fail(`no redirect: ${shown}`)
            assert.strictEqual(new URL(location, replica.baseUrl).origin, "https://quarry.test", shown)
            assert.notInclude(yield* Effect.promise(() => answer.text()), "evil.example", shown)
          }
        }
      }
    })
  )

  it.effect("a refresh token that nothing here made is an invalid grant, in any form (RFC 6749 section 5.2)", () =>
    Effect.gen(function* () {
      const { app, replica, tokens } = yield* aConnection
      for (const token of [
        "unknown",
        `quarry_rt_${"x".repeat(32)}`,
        tokens.refresh.replace("quarry_rt_", ""),
        tokens.access
      ]) {
        const refused = yield* Apps.refresh(replica, app, token)
        assert.deepStrictEqual([refused.status, refused.json.error], [400, "invalid_grant"], token)
      }
      assert.strictEqual((yield* Apps.refresh(replica, app, tokens.refresh)).status, 200)
    })
  )

  it.effect("a redirect must be safe for a browser with a code", () =>
    Effect.gen(function* () {
      const replica = yield* makeSite()
      for (const uri of [
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "vbscript:x",
        "http://app.example/callback",
        "http://127.0.0.1.example/callback",
        "https://user:word@app.example/callback",
        "https://app.example/callback#part",
        "/callback",
        "",
        `https://app.example/${"x".repeat(2000)}`
      ]) {
        const refused = yield* Apps.register(replica, { redirect_uris: [Apps.callback, uri] })
        assert.strictEqual(refused.status, 400, uri)
      }
      for (const redirect_uris of [[], undefined, "https://app.example", Array(11).fill(Apps.callback), [1]]) {
        const refused = yield* Apps.register(replica, { redirect_uris })
        assert.deepStrictEqual([refused.status, refused.json.error], [400, "invalid_redirect_uri"])
      }
      for (const uri of [
        "https://app.example/callback",
        "http://localhost:8080/",
        "http://[::1]/x",
        "https://vscode.dev/redirect",
        "https://claude.ai/api/mcp/auth_callback",
        "com.example.app:/x",
        "cursor://anysphere.cursor-retrieval/oauth/callback"
      ]) {
        assert.strictEqual((yield* Apps.register(replica, { redirect_uris: [uri] })).status, 201, uri)
      }
    })
  )

  it.effect("a code goes to the scheme of an app's own, as that was registered (RFC 8252 section 7.1)", () =>
    Effect.gen(function* () {
      const replica = yield* makeSite()
      const { browser } = yield* aPerson(replica)
      const own = "cursor://anysphere.cursor-retrieval/oauth/callback"
      for (const redirect_uris of [[own], [Apps.callback, own]]) {
        const { json } = yield* Apps.register(replica, { redirect_uris })
        assert.deepStrictEqual(json.redirect_uris, redirect_uris)
        const app = String(json.client_id)
        const { challenge, verifier } = Apps.makeProof()
        const answer = yield* Apps.allow(
          replica,
          browser,
          Apps.authorizationQuery(replica, app, challenge, { redirect_uri: own })
        )
        assert.isTrue(answer.href.startsWith(`${own}?`), answer.href)
        const body = new URLSearchParams({
          grant_type: "authorization_code",
          code: answer.searchParams.get("code") ?? "",
          client_id: app,
          code_verifier: verifier,
          redirect_uri: own
        })
        assert.isTrue(yield* works(replica, Apps.tokensOf(yield* Apps.post(replica, "/oauth2/token", body)).access))
        for (const redirect_uri of [
          "cursor://elsewhere.test/oauth/callback",
          `${own}/`,
          "http://127.0.0.1/",
          "javascript://anysphere.cursor-retrieval/oauth/callback"
        ]) {
          const query = Apps.authorizationQuery(replica, app, challenge, { redirect_uri })
          assert.match(yield* Apps.authorize(replica, browser, query), /^https:\/\/quarry\.test\/oauth\/error\?/)
        }
      }
      for (const uri of [
        "javascript://app/%0aalert(1)",
        "file://host/etc",
        "ms-msdt://app/x",
        "intent://app/x",
        "smb://app/x",
        "ldap://app/x",
        "jnlp://app/x",
        "whatever://app/x",
        "ftp://app/"
      ]) {
        const refused = yield* Apps.register(replica, { redirect_uris: [own, uri] })
        assert.deepStrictEqual([refused.status, refused.json.error], [400, "invalid_redirect_uri"], uri)
      }
    })
  )

  it.effect("a code goes to a redirect that was registered, in every character but a loopback port (RFC 8252)", () =>
    Effect.gen(function* () {
      const { app, browser, replica } = yield* aConnection
      const { challenge } = Apps.makeProof()
      for (const redirect_uri of [
        "http://127.0.0.1:33418/callback/",
        "http://127.0.0.1:33418/callback?x=1",
        "http://127.0.0.1:33418/Callback",
        "http://127.0.0.1@elsewhere.test:33418/callback",
        "http://127.0.0.1:33418/callback#x",
        "http://localhost:33418/callback",
        "https://127.0.0.1:33418/callback",
        "javascript:alert(1)//127.0.0.1:33418/callback",
        "https://elsewhere.test/callback",
        undefined
      ]) {
        const query = Apps.authorizationQuery(replica, app, challenge, { redirect_uri })
        const location = yield* Apps.authorize(replica, browser, query)
        assert.match(location, /^https:\/\/quarry\.test\/oauth\/error\?/, redirect_uri ?? "absent")
      }
      const query = Apps.authorizationQuery(replica, app, challenge, { redirect_uri: "http://127.0.0.1:9/callback" })
      assert.match((yield* Apps.allow(replica, browser, query)).href, /^http:\/\/127\.0\.0\.1:9\/callback\?code=/)
      const { redeem } = yield* Apps.makeCode(replica, browser, app)
      assert.strictEqual((yield* redeem({ redirect_uri: "http://127.0.0.1:9/callback" })).json.error, "invalid_grant")
    })
  )

  it.effect("tokens are bound to the MCP endpoint, and those of another audience are refused (RFC 8707)", () =>
    Effect.gen(function* () {
      const { app, browser, replica, tokens } = yield* aConnection
      const { challenge } = Apps.makeProof()
      for (const resource of ["https://elsewhere.test/mcp", [`${replica.baseUrl}/mcp`, "https://elsewhere.test/mcp"]]) {
        const location = yield* Apps.authorize(
          replica,
          browser,
          Apps.authorizationQuery(replica, app, challenge, { resource })
        )
        assert.strictEqual(new URL(location).searchParams.get("error"), "invalid_target")
      }
      const { redeem } = yield* Apps.makeCode(replica, browser, app)
      assert.strictEqual((yield* redeem({ resource: "https://elsewhere.test/mcp" })).json.error, "invalid_target")
      const elsewhere = yield* Apps.refresh(replica, app, tokens.refresh, { resource: "https://elsewhere.test/mcp" })
      assert.strictEqual(elsewhere.json.error, "invalid_target")

      // The library takes this one for its own, and it is not ours.
      const own = `${replica.baseUrl}/api/auth/oauth2/userinfo`
      for (const resource of [own, [`${replica.baseUrl}/mcp`, own]]) {
        const { challenge, verifier } = Apps.makeProof()
        const answer = yield* Apps.allow(
          replica,
          browser,
          Apps.authorizationQuery(replica, app, challenge, { resource })
        )
        const body = new URLSearchParams({
          grant_type: "authorization_code",
          code: answer.searchParams.get("code") ?? "",
          client_id: app,
          code_verifier: verifier,
          redirect_uri: Apps.callback
        })
        const { json } = yield* Apps.post(replica, "/oauth2/token", body)
        assert.isFalse(yield* works(replica, String(json.access_token)))
      }
      assert.isFalse(yield* works(yield* makeSite({ baseUrl: "https://other.test" }), tokens.access))
    })
  )

  it.effect("the MCP endpoint's address is the same resource in capitals, with its port, a slash or a query", () =>
    Effect.gen(function* () {
      const { app, browser, replica, tokens } = yield* aConnection
      let { refresh } = tokens
      for (const resource of [
        "https://quarry.test/mcp?tools=web_search,read_page",
        "HTTPS://Quarry.TEST:443/mcp",
        "https://quarry.test/mcp/",
        ["https://quarry.test/mcp", "https://quarry.test/mcp/?tools=search"]
      ]) {
        const { challenge, verifier } = Apps.makeProof()
        const query = Apps.authorizationQuery(replica, app, challenge, { resource })
        const code = (yield* Apps.allow(replica, browser, query)).searchParams.get("code") ?? ""
        const body = new URLSearchParams({
          grant_type: "authorization_code",
          code,
          client_id: app,
          code_verifier: verifier,
          redirect_uri: Apps.callback
        })
        for (const one of [resource].flat()) body.append("resource", one)
        assert.isTrue(yield* works(replica, Apps.tokensOf(yield* Apps.post(replica, "/oauth2/token", body)).access))
        const renewed = Apps.tokensOf(
          yield* Apps.refresh(replica, app, refresh, { resource: [resource].flat()[0] ?? "" })
        )
        assert.isTrue(yield* works(replica, renewed.access))
        refresh = renewed.refresh
      }
      for (const resource of [
        "http://quarry.test/mcp",
        "https://quarry.test:8443/mcp",
        "https://quarry.test/MCP",
        "https://quarry.test/mcp/x",
        "https://quarry.test/",
        "https://user@quarry.test/mcp"
      ]) {
        const query = Apps.authorizationQuery(replica, app, Apps.makeProof().challenge, { resource })
        assert.match(yield* Apps.authorize(replica, browser, query), /error=invalid_target/, resource)
      }
    })
  )

  it.effect("R78: an assertion that an app sends is ignored", () =>
    Effect.gen(function* () {
      const { app, replica, tokens } = yield* aConnection
      const assertion = {
        client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        client_assertion: "not.a.token"
      }
      assert.strictEqual((yield* Apps.refresh(replica, app, tokens.refresh, assertion)).status, 200)
    })
  )

  it.effect("an app that names no resource gets a token for the MCP endpoint", () =>
    Effect.gen(function* () {
      const { app, browser, replica } = yield* aConnection
      const { challenge, verifier } = Apps.makeProof()
      const query = Apps.authorizationQuery(replica, app, challenge, {
        resource: undefined,
        scope: "openid everything"
      })
      const answer = yield* Apps.allow(replica, browser, query)
      const body = new URLSearchParams({
        grant_type: "authorization_code",
        code: answer.searchParams.get("code") ?? "",
        client_id: app,
        code_verifier: verifier,
        redirect_uri: Apps.callback
      })
      const { json } = yield* Apps.post(replica, "/oauth2/token", body, { headers: { dpop: "nonsense" } })
      assert.strictEqual(json.scope, "search read offline_access")
      assert.strictEqual(json.token_type, "Bearer")
      assert.isTrue(yield* works(replica, String(json.access_token)))
    })
  )

  it.effect("a code is good once: a second use refuses, and ends what the first one got", () =>
    Effect.gen(function* () {
      const { app, redeem, replica, tokens } = yield* aConnection
      assert.strictEqual((yield* redeem()).json.error, "invalid_grant")
      assert.isFalse(yield* works(replica, tokens.access))
      assert.strictEqual((yield* Apps.refresh(replica, app, tokens.refresh)).status, 400)
    })
  )

  it.effect("a code that is used twice at once leaves nobody with a token", () =>
    Effect.gen(function* () {
      const { app, browser, replica } = yield* aConnection
      const { redeem } = yield* Apps.makeCode(replica, browser, app)
      const answers = yield* Effect.all([redeem(), redeem(), redeem()], { concurrency: "unbounded" })
      const given = answers.filter(({ status }) => status === 200)
      assert.isAtMost(given.length, 1)
      for (const answer of given) assert.isFalse(yield* works(replica, Apps.tokensOf(answer).access))
    })
  )

  it.effect("a code of another app or of a person who has signed out since is refused", () =>
    Effect.gen(function* () {
      const { app, browser, replica } = yield* aConnection
      const stolen = yield* Apps.makeCode(replica, browser, app)
      assert.strictEqual((yield* stolen.redeem({ client_id: yield* Apps.makeApp(replica) })).status, 400)
      const late = yield* Apps.makeCode(replica, browser, app)
      yield* browser.post(replica, "/sign-out")
      assert.strictEqual((yield* late.redeem()).status, 400)
    })
  )

  it.effect("R79: a refresh token used again within a minute gets a new pair of the same family, at any replica", () =>
    Effect.gen(function* () {
      const { app, replica, tokens } = yield* aConnection
      const other = yield* makeSite()
      const first = Apps.tokensOf(yield* Apps.refresh(replica, app, tokens.refresh))
      yield* age(app, 58)
      const answer = yield* Apps.refresh(other, app, tokens.refresh)
      assert.deepStrictEqual([answer.status, answer.json.scope], [200, "search read offline_access"])
      const second = Apps.tokensOf(answer)
      assert.lengthOf(new Set([tokens.refresh, first.refresh, second.refresh]), 3)
      for (const { access, refresh } of [first, second]) {
        assert.isTrue(yield* works(replica, access))
        assert.strictEqual((yield* Apps.refresh(replica, app, refresh)).status, 200)
      }
    })
  )

  it.effect("R79: a use after the minute ends the family, however often the token was repeated before", () =>
    Effect.gen(function* () {
      const { app, browser, replica, tokens } = yield* aConnection
      const { redeem } = yield* Apps.makeCode(replica, browser, app)
      const bystander = Apps.tokensOf(yield* redeem())
      const pairs = [Apps.tokensOf(yield* Apps.refresh(replica, app, tokens.refresh))]
      yield* age(app, 40)
      pairs.push(Apps.tokensOf(yield* Apps.refresh(replica, app, tokens.refresh)))
      // A minute counts from the first use, not from the latest.
      yield* age(app, 21)
      assert.strictEqual((yield* Apps.refresh(replica, app, tokens.refresh)).json.error, "invalid_grant")
      const other = yield* makeSite()
      for (const { access, refresh } of [tokens, ...pairs]) {
        assert.isFalse(yield* works(other, access))
        assert.strictEqual((yield* Apps.refresh(other, app, refresh)).json.error, "invalid_grant")
      }
      // Another sign-in of the same app is another family.
      assert.isTrue(yield* works(replica, bystander.access))
      assert.strictEqual((yield* Apps.refresh(replica, app, bystander.refresh)).status, 200)
    })
  )

  it.effect("R79: using a replaced token after it has expired does not end the family", () =>
    Effect.gen(function* () {
      const { app, replica, tokens } = yield* aConnection
      const sql = yield* SqlClient.SqlClient
      const next = Apps.tokensOf(yield* Apps.refresh(replica, app, tokens.refresh))
      yield* sql`
        update auth_refresh_tokens set expires_at = clock_timestamp() - interval '1 second'
        where client_id = ${app} and rotated_at is not null`
      yield* age(app, 61)
      // The second use finds a token that the first one has deleted.
      for (let use = 0; use < 2; use++) {
        assert.strictEqual((yield* Apps.refresh(replica, app, tokens.refresh)).json.error, "invalid_grant")
      }
      assert.isTrue(yield* works(replica, next.access))
      assert.strictEqual((yield* Apps.refresh(replica, app, next.refresh)).status, 200)
    })
  )

  it.effect("R79: refreshes at once wait for one another and all succeed, over all replicas", () =>
    Effect.gen(function* () {
      const { app, replica, tokens } = yield* aConnection
      const other = yield* makeSite()
      const answers = yield* Effect.forEach(
        Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? replica : other)),
        (one) => Apps.refresh(one, app, tokens.refresh),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        Array(8).fill(200)
      )
      for (const answer of answers) {
        const { access, refresh } = Apps.tokensOf(answer)
        assert.isTrue(yield* works(replica, access))
        assert.strictEqual((yield* Apps.refresh(other, app, refresh)).status, 200)
      }
    })
  )

  it.effect("R79: no refresh that runs while its family ends leaves a working token", () =>
    Effect.gen(function* () {
      const { app, browser, replica } = yield* aConnection
      const other = yield* makeSite()
      for (let round = 0; round < 4; round++) {
        const { redeem } = yield* Apps.makeCode(replica, browser, app)
        const first = Apps.tokensOf(yield* redeem())
        const next = Apps.tokensOf(yield* Apps.refresh(replica, app, first.refresh))
        yield* age(app, 61)
        const [late, ...answers] = yield* Effect.all(
          [
            Apps.refresh(other, app, first.refresh),
            Apps.refresh(replica, app, next.refresh),
            Apps.refresh(other, app, next.refresh)
          ],
          { concurrency: "unbounded" }
        )
        assert.strictEqual(late.status, 400)
        for (const answer of answers) {
          if (answer.status !== 200) continue
          const { access, refresh } = Apps.tokensOf(answer)
          assert.isFalse(yield* works(replica, access))
          assert.strictEqual((yield* Apps.refresh(replica, app, refresh)).json.error, "invalid_grant")
        }
      }
    })
  )

  it.effect("R79: revoking a refresh token ends its family, also within the minute in which another repeats", () =>
    Effect.gen(function* () {
      const { app, replica, tokens } = yield* aConnection
      const pairs = [
        Apps.tokensOf(yield* Apps.refresh(replica, app, tokens.refresh)),
        Apps.tokensOf(yield* Apps.refresh(replica, app, tokens.refresh))
      ]
      assert.strictEqual((yield* Apps.revoke(replica, app, pairs[0]?.refresh ?? "")).status, 200)
      for (const { access, refresh } of [tokens, ...pairs]) {
        assert.isFalse(yield* works(replica, access))
        assert.strictEqual((yield* Apps.refresh(replica, app, refresh)).json.error, "invalid_grant")
      }
    })
  )

  it.effect("R79: a refresh that fails leaves the token as it was", () =>
    Effect.gen(function* () {
      const { app, replica, tokens } = yield* aConnection
      const wrong = () => Apps.refresh(replica, app, tokens.refresh, { scope: "admin" })
      assert.strictEqual((yield* wrong()).json.error, "invalid_scope")
      assert.strictEqual((yield* Apps.refresh(replica, app, tokens.refresh)).status, 200)
      assert.strictEqual((yield* wrong()).json.error, "invalid_scope")
      yield* age(app, 61)
      assert.strictEqual((yield* Apps.refresh(replica, app, tokens.refresh)).json.error, "invalid_grant")
    })
  )

  it.effect("a token that a version before R79 stored or replaced stays as valid as it was", () =>
    Effect.gen(function* () {
      const { app, replica, tokens } = yield* aConnection
      const sql = yield* SqlClient.SqlClient
      const next = Apps.tokensOf(yield* Apps.refresh(replica, app, tokens.refresh))
      yield* sql`
        update auth_refresh_tokens set code_digest = null, rotation_settled_at = rotated_at + interval '10 seconds'
        where client_id = ${app}`
      yield* sql`update auth_access_tokens set code_digest = null where client_id = ${app}`
      yield* age(app, 30)
      for (const token of [next.refresh, tokens.refresh]) {
        assert.strictEqual((yield* Apps.refresh(replica, app, token)).status, 200)
      }
      yield* age(app, 61)
      assert.strictEqual((yield* Apps.refresh(replica, app, tokens.refresh)).json.error, "invalid_grant")
      assert.isFalse(yield* works(replica, next.access))
    })
  )

  it.effect("a refresh token serves the app that it was given to, and to no wider end", () =>
    Effect.gen(function* () {
      const { app, replica, tokens } = yield* aConnection
      const another = yield* Apps.makeApp(replica)
      assert.strictEqual((yield* Apps.refresh(replica, another, tokens.refresh)).status, 400)
      assert.strictEqual((yield* Apps.refresh(replica, app, tokens.refresh, { scope: "admin" })).status, 400)
      assert.strictEqual((yield* Apps.refresh(replica, app, tokens.access)).status, 400)
      assert.strictEqual((yield* Apps.refresh(replica, app, tokens.refresh)).status, 200)
    })
  )

  it.effect("a revoked token is refused at once; what is not there counts as revoked (RFC 7009)", () =>
    Effect.gen(function* () {
      const { app, browser, replica, tokens } = yield* aConnection
      const other = yield* makeSite()
      const stranger = yield* Apps.makeApp(replica)
      for (const token of [tokens.access, tokens.refresh]) yield* Apps.revoke(replica, stranger, token)
      assert.isTrue(yield* works(replica, tokens.access))
      assert.strictEqual((yield* Apps.revoke(replica, app, tokens.access)).status, 200)
      assert.isFalse(yield* works(other, tokens.access))
      const next = Apps.tokensOf(yield* Apps.refresh(replica, app, tokens.refresh))
      assert.strictEqual((yield* Apps.revoke(replica, app, next.refresh, "refresh_token")).status, 200)
      assert.isFalse(yield* works(other, next.access))
      assert.strictEqual((yield* Apps.refresh(replica, app, next.refresh)).status, 400)
      for (const hint of [undefined, "access_token", "refresh_token", "nonsense"]) {
        assert.strictEqual((yield* Apps.revoke(replica, app, "nothing", hint)).status, 200)
      }
      assert.strictEqual((yield* Apps.revoke(replica, "nobody", next.access)).json.error, "invalid_client")
      const second = yield* Apps.letIn(replica, browser)
      assert.isTrue(yield* works(replica, second.tokens.access))
    })
  )

  for (const [name, end] of Object.entries(endings)) {
    it.effect(`${name} ends a person's tokens and codes on every replica, and nobody else's`, () =>
      Effect.gen(function* () {
        const { account, app, browser, email, replica, tokens } = yield* aConnection
        const bystander = yield* aPerson(replica)
        const kept = yield* Apps.letIn(replica, bystander.browser)
        const late = yield* Apps.makeCode(replica, browser, app)
        yield* end(yield* makeSite(), browser, email, account.id)
        assert.isFalse(yield* works(replica, tokens.access))
        assert.strictEqual((yield* Apps.refresh(replica, app, tokens.refresh)).status, 400)
        assert.strictEqual((yield* late.redeem()).status, 400)
        assert.isTrue(yield* works(replica, kept.tokens.access))
      })
    )
  }

  it.effect("tokens that are issued while a person signs out everywhere do not outlive it", () =>
    Effect.gen(function* () {
      const { app, browser, email, replica } = yield* aConnection
      const other = yield* makeSite()
      for (let round = 0; round < 6; round++) {
        const person = makeBrowser()
        yield* person.signIn(replica, email)
        const make = Effect.forEach(Array.from({ length: 4 }), () => Apps.makeCode(replica, person, app))
        const given = yield* Effect.forEach(yield* make, ({ redeem }) => Effect.map(redeem(), Apps.tokensOf))
        // Theirs is a session that is over, so that nothing but the lock stands between them and the sign-out.
        yield* person.post(replica, "/sign-out")
        yield* person.signIn(replica, email)
        const codes = yield* make
        const attempts = [
          ...given.map(({ refresh }) => Effect.exit(Apps.refresh(replica, app, refresh))),
          ...codes.map(({ redeem }) => Effect.exit(redeem()))
        ]
        const signOut = Effect.exit(person.post(other, "/revoke-sessions", {}))
        attempts.splice(round, 0, signOut)
        const answers = yield* Effect.all(attempts, { concurrency: "unbounded" })
        for (const exit of answers) {
          if (exit._tag === "Failure" || exit.value.status !== 200) continue
          assert.isFalse(yield* works(replica, String(exit.value.json.access_token)))
        }
      }
      yield* browser.signIn(replica, email)
    })
  )

  it.effect("an app goes on when its person signs out of one browser", () =>
    Effect.gen(function* () {
      const { app, browser, replica, tokens } = yield* aConnection
      yield* browser.post(replica, "/sign-out")
      const next = Apps.tokensOf(yield* Apps.refresh(replica, app, tokens.refresh))
      assert.isTrue(yield* works(replica, next.access))
    })
  )

  it.effect("an expired token is refused, and is cleared away", () =>
    Effect.gen(function* () {
      const { app, replica, tokens } = yield* aConnection
      const sql = yield* SqlClient.SqlClient
      yield* sql`update auth_access_tokens set expires_at = clock_timestamp() - interval '1 second' where client_id = ${app}`
      assert.isFalse(yield* works(replica, tokens.access))
      yield* Apps.refresh(replica, app, tokens.refresh)
      const rows = yield* sql`select 1 from auth_access_tokens where client_id = ${app}`
      assert.lengthOf(rows, 1)
    })
  )

  it.effect("registrations are counted by address, over all replicas, up to the operator's limit", () =>
    Effect.gen(function* () {
      const options = { registrationsPerMinute: 7 }
      const replicas = [yield* makeSite(options), yield* makeSite(options)]
      const address = Apps.nextAddress()
      const statuses: Array<number> = []
      for (let attempt = 0; attempt < 9; attempt++) {
        const replica = replicas[attempt % 2]
        if (replica !== undefined) statuses.push((yield* Apps.register(replica, {}, address)).status)
      }
      assert.deepStrictEqual(statuses, [...Array(7).fill(201), 429, 429])
      assert.strictEqual((yield* Apps.register(yield* makeSite(options))).status, 201)
    })
  )

  it.effect("sixty-five people of a platform refresh at once from one address, and only failures count there", () =>
    Effect.gen(function* () {
      const { app, browser, replica } = yield* aConnection
      const address = Apps.nextAddress()
      const { redeem } = yield* Apps.makeCode(replica, browser, app)
      let { refresh } = Apps.tokensOf(yield* redeem())
      const ask = (token: string) =>
        Apps.post(
          replica,
          "/oauth2/token",
          new URLSearchParams({ grant_type: "refresh_token", refresh_token: token, client_id: app }),
          { address }
        )
      for (let round = 0; round < 65; round++) {
        const answer = yield* ask(refresh)
        assert.strictEqual(answer.status, 200)
        refresh = Apps.tokensOf(answer).refresh
      }
      const failures: Array<number> = []
      for (let round = 0; round < 62; round++) failures.push((yield* ask("nothing")).status)
      assert.deepStrictEqual(failures, [...Array(60).fill(400), 429, 429])
      // The others of the platform are not kept from their tokens.
      assert.strictEqual((yield* ask(refresh)).status, 200)
    })
  )

  it.effect("one token is refreshed again at most sixty times within its minute", () =>
    Effect.gen(function* () {
      const { app, replica, tokens } = yield* aConnection
      const statuses: Array<number> = []
      for (let use = 0; use < 63; use++) statuses.push((yield* Apps.refresh(replica, app, tokens.refresh)).status)
      assert.deepStrictEqual(statuses, [...Array(61).fill(200), 429, 429])
    })
  )

  it.effect("R79: a use after the minute ends the family also of a token that was repeated too often", () =>
    Effect.gen(function* () {
      const { app, replica, tokens } = yield* aConnection
      const next = Apps.tokensOf(yield* Apps.refresh(replica, app, tokens.refresh))
      let status = 200
      for (let use = 0; use < 70 && status === 200; use++) {
        status = (yield* Apps.refresh(replica, app, tokens.refresh)).status
      }
      assert.strictEqual(status, 429)
      yield* age(app, 61)
      for (const token of [tokens, next]) {
        assert.strictEqual((yield* Apps.refresh(replica, app, token.refresh)).json.error, "invalid_grant")
        assert.isFalse(yield* works(replica, token.access))
      }
    })
  )

  it.effect("R80: a registration lives for ninety days after its last use, also of an app that was disconnected", () =>
    Effect.gen(function* () {
      const { app, browser, inAccount, replica } = yield* aConnection
      const sql = yield* SqlClient.SqlClient
      const idle = yield* Apps.makeApp(replica)
      yield* replica.connectedApps.end(inAccount, app)
      for (const one of [app, idle]) yield* leaveUnused(one, hours(89 * 24))
      yield* Apps.makeApp(replica)
      const names = Effect.map(sql<{ readonly client_id: string }>`select client_id from auth_apps`, (rows) =>
        rows.map(({ client_id }) => client_id)
      )
      assert.includeMembers([...(yield* names)], [app, idle])
      const { redeem } = yield* Apps.makeCode(replica, browser, app)
      assert.strictEqual((yield* redeem()).status, 200)
      // Counts from the use of a moment ago.
      for (const one of [app, idle]) yield* leaveUnused(one, hours(2 * 24))
      yield* Apps.makeApp(yield* makeSite())
      assert.include(yield* names, app)
      assert.notInclude(yield* names, idle)
    })
  )

  it.effect("R80: an expired or unknown app is an invalid client, after which apps register again", () =>
    Effect.gen(function* () {
      const { app, browser, replica, tokens } = yield* aConnection
      const late = yield* Apps.makeCode(replica, browser, app)
      yield* leaveUnused(app, hours(91 * 24))
      const answers = [
        yield* late.redeem(),
        yield* Apps.refresh(replica, app, tokens.refresh),
        yield* Apps.refresh(replica, "unknown", tokens.refresh),
        yield* Apps.revoke(replica, app, tokens.refresh)
      ]
      for (const { json, status } of answers) assert.deepStrictEqual([status, json.error], [401, "invalid_client"])
      const query = Apps.authorizationQuery(replica, app, Apps.makeProof().challenge)
      assert.match(yield* Apps.authorize(replica, browser, query), /\/oauth\/error\?error=invalid_client&/)
    })
  )

  it.effect("R80: ten thousand registrations that nobody let in are kept, and those unused for longest go first", () =>
    Effect.gen(function* () {
      const { app, replica } = yield* aConnection
      const sql = yield* SqlClient.SqlClient
      yield* leaveUnused(app, hours(80 * 24))
      yield* sql`
        insert into auth_apps
        select 'flood' || i, 'flood' || i, name, redirect_uris, scopes, grant_types, response_types,
          token_endpoint_auth_method, application_type, clock_timestamp() - interval '1 second' * i, updated_at
        from auth_apps, generate_series(1, 10100) i where client_id = ${app}`
      yield* sql`update auth_apps set used_at = clock_timestamp() where client_id = 'flood10099'`
      const last = yield* Apps.makeApp(replica)
      const names = (yield* sql<{ readonly client_id: string }>`select client_id from auth_apps`).map(
        (row) => row.client_id
      )
      assert.includeMembers(names, [app, last, "flood1", "flood10099"])
      assert.notInclude(names, "flood10100")
      const unapproved = yield* sql`
        select 1 from auth_apps a where not exists (select 1 from auth_consents c where c.client_id = a.client_id)`
      assert.lengthOf(unapproved, 10_000)
      yield* sql`delete from auth_apps where client_id like 'flood%'`
    })
  )

  it.effect("what an app says of itself is cut to size, and makes it nothing more", () =>
    Effect.gen(function* () {
      const replica = yield* makeSite()
      const { browser } = yield* aPerson(replica)
      const huge = "x".repeat(500_000)
      const { json } = yield* Apps.register(replica, {
        client_name: `\u202eevil\u0000 \u200bname  ${"y".repeat(200)}`,
        token_endpoint_auth_method: "client_secret_post",
        grant_types: ["client_credentials"],
        scope: "openid admin",
        skip_consent: true,
        logo_uri: huge,
        software_statement: huge,
        jwks_uri: "https://169.254.169.254/jwks"
      })
      assert.match(json.client_name, /^evil namey? ?y+$/)
      assert.isAtMost(json.client_name.length, 100)
      assert.notProperty(json, "client_secret")
      assert.deepStrictEqual(json.grant_types, ["authorization_code", "refresh_token"])
      assert.strictEqual(json.token_endpoint_auth_method, "none")
      assert.notInclude(yield* dumpOf, huge)
      const query = Apps.authorizationQuery(replica, json.client_id, Apps.makeProof().challenge)
      assert.match(yield* Apps.authorize(replica, browser, query), /^\/oauth\/consent\?/)
      for (const body of ["", "[]", "null", '"x"', "{", "{}"]) {
        assert.strictEqual((yield* Apps.post(replica, "/oauth2/register", body)).status, 400, body)
      }
    })
  )

  it.effect("R70: an address of an app whose host would take long to convert is refused before it is parsed", () =>
    Effect.gen(function* () {
      const replica = yield* makeSite()
      const { browser } = yield* aPerson(replica)
      const host = Array.from({ length: 600 }, (_, n) => String.fromCodePoint(0x4e00 + n)).join("")
      const address = `https://${host}/`
      const { json } = yield* Apps.register(replica, { redirect_uris: [address] })
      assert.strictEqual(json.error, "invalid_redirect_uri")
      const app = yield* Apps.makeApp(replica)
      const { challenge } = Apps.makeProof()
      for (const changes of [{ redirect_uri: address }, { resource: address }, { resource: "x".repeat(2001) }]) {
        const query = Apps.authorizationQuery(replica, app, challenge, changes)
        assert.match(yield* Apps.authorize(replica, browser, query), /\/oauth\/error\?error=invalid_request$/)
        const { redeem } = yield* Apps.makeCode(replica, browser, app)
        assert.deepInclude((yield* redeem(changes)).json, { error_description: "an address is too long" })
      }
    })
  )

  it.effect("an app's ID leads to no address of this machine or of a private network", () =>
    Effect.gen(function* () {
      const { browser, replica } = yield* aConnection
      let connections = 0
      const server = yield* Effect.acquireRelease(
        Effect.promise(
          () =>
            new Promise<ReturnType<typeof createServer>>((resolve) => {
              const server = createServer((_, response) => response.end("{}"))
              server.on("connection", () => connections++)
              server.listen(0, "127.0.0.1", () => resolve(server))
            })
        ),
        (server) => Effect.sync(() => server.close())
      )
      const { port } = server.address() as AddressInfo
      for (const name of [
        `http://127.0.0.1:${port}/app.json`,
        `https://127.0.0.1:${port}/app.json`,
        `https://localhost:${port}/app.json`,
        `https://[::ffff:127.0.0.1]:${port}/app.json`,
        // Resolves to the loopback address wherever names do.
        `https://127.0.0.1.nip.io:${port}/app.json`,
        "https://169.254.169.254/latest/meta-data/",
        "\0",
        "x".repeat(5000)
      ]) {
        const query = Apps.authorizationQuery(replica, name, Apps.makeProof().challenge)
        assert.match(
          yield* Apps.authorize(replica, browser, query),
          /\/oauth\/error\?error=invalid_(?:client|document)/
        )
        const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token: "x", client_id: name })
        assert.strictEqual((yield* Apps.post(replica, "/oauth2/token", body)).json.error, "invalid_client")
      }
      assert.strictEqual(connections, 0)
    })
  )

  it.effect("the database holds no token and no code that works", () =>
    Effect.gen(function* () {
      const { app, browser, code, replica, tokens } = yield* aConnection
      const next = Apps.tokensOf(yield* Apps.refresh(replica, app, tokens.refresh))
      const pending = yield* Apps.makeCode(replica, browser, app)
      const dump = yield* dumpOf
      for (const token of [tokens.access, tokens.refresh, next.access, next.refresh, code, pending.code]) {
        const bare = token.replace(/^quarry_[ar]t_/, "")
        assert.match(bare, /^[0-9A-Za-z]{32}$/)
        assert.notInclude(dump, bare)
      }
    })
  )

  it.effect("where clients use plain http no app is let in, and signing in works", () =>
    Effect.gen(function* () {
      const replica = yield* makeSite({ baseUrl: "http://quarry.test" })
      yield* aPerson(replica)
      const refused = yield* Effect.flip(Apps.register(replica))
      assert.strictEqual(refused._tag, "not_found")
    })
  )
}
