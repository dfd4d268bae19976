import { createHash, randomBytes } from "node:crypto"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import { assert, it } from "@effect/vitest"
import * as Latest from "@modelcontextprotocol/client"
import { type OAuthClientProvider, UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { browser, describeWithChromium } from "../../support/processes/Chromium.ts"
import { startServer } from "../../support/processes/Spawned.ts"
import * as AppCallback from "../../support/servers/AppCallback.ts"
import * as Certificates from "../../support/servers/Certificates.ts"
import * as EmbeddedStore from "../../support/stores/EmbeddedStore.ts"

const person = { email: "ada@example.com", password: "correct horse battery staple", name: "Ada" }

/** What the official client keeps of an authorization, and where it wanted its person to go. */
const makeProvider = (redirectUrl: string) => {
  const kept: { client?: OAuthClientInformationMixed; tokens?: OAuthTokens; verifier?: string; asked?: URL } = {}
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: { client_name: "Ada's <i>assistant</i>", redirect_uris: [redirectUrl] },
    clientInformation: () => kept.client,
    saveClientInformation: (client) => {
      kept.client = client
    },
    tokens: () => kept.tokens,
    saveTokens: (tokens) => {
      kept.tokens = tokens
    },
    redirectToAuthorization: (url) => {
      kept.asked = url
    },
    saveCodeVerifier: (verifier) => {
      kept.verifier = verifier
    },
    codeVerifier: () => kept.verifier ?? "",
    invalidateCredentials: () => {
      delete kept.tokens
    }
  }
  return { kept, provider }
}

const makeClient = (origin: string, provider: OAuthClientProvider) => ({
  client: new Client({ name: "test", version: "1" }),
  transport: new StreamableHTTPClientTransport(new URL(`${origin}/mcp`), { authProvider: provider })
})

/** Signs in and allows the app, as a person does. */
const allow = async (page: Page, asked: URL) => {
  await page.goto(asked.href)
  await page.getByLabel("Email").fill(person.email)
  await page.getByLabel("Password").fill("not the password")
  await page.getByRole("button", { name: "Sign in", exact: true }).click()
  assert.include((await page.getByRole("alert").textContent()) ?? "", "incorrect")
  await page.getByLabel("Password").fill(person.password)
  await page.getByRole("button", { name: "Sign in", exact: true }).click()
  await page.getByRole("heading", { name: "Allow Ada's <i>assistant</i> to use your Quarry account?" }).waitFor()
  const text = (await page.locator("main").textContent()) ?? ""
  assert.include(text, person.email)
  assert.include(text, asked.searchParams.get("redirect_uri")?.split("/")[2] ?? "no redirect")
  await page.getByRole("button", { name: "Allow" }).click()
  await page.waitForURL(/\/callback\?/)
}

const serverWith = Effect.fnUntraced(function* (env: Record<string, string> = {}) {
  const { origin } = yield* startServer({ DATA_DIR: yield* EmbeddedStore.directory, ...env })
  const send = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    Effect.promise(() =>
      fetch(`${origin}${path}`, {
        method: "POST",
        headers: { origin, "content-type": "application/json", ...headers },
        body: JSON.stringify(body)
      })
    )
  yield* send("/api/auth/sign-up/email", person)
  return { origin, send }
})

/** A site that publishes an app's metadata document over TLS, and the file of the authority to trust. */
const publisher = Effect.fnUntraced(function* (redirectUrl: string) {
  const { authorityFile, certificate } = yield* Certificates.make("DNS:localhost")
  const { cert, key } = certificate
  const site = createServer({ cert, key }, (request, response) => {
    const document = {
      client_id: `https://${request.headers.host}${request.url}`,
      client_name: "Ada's <i>assistant</i>",
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: "none"
    }
    response.setHeader("content-type", "application/json").end(JSON.stringify(document))
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((done) => site.listen(0, "127.0.0.1", done))),
    () =>
      Effect.sync(() => {
        site.closeAllConnections()
        site.close()
      })
  )
  return { authorityFile, host: `localhost:${(site.address() as AddressInfo).port}` }
})

/** What the current client keeps of an authorization by metadata document. */
const makeDocumentProvider = (redirectUrl: string, clientMetadataUrl: string) => {
  const kept: { client?: Latest.OAuthClientInformationMixed; tokens?: Latest.OAuthTokens; asked?: URL | undefined } = {}
  let verifier = ""
  const provider: Latest.OAuthClientProvider = {
    redirectUrl,
    clientMetadataUrl,
    clientMetadata: { client_name: "unused", redirect_uris: [redirectUrl] },
    clientInformation: () => kept.client,
    saveClientInformation: (client) => {
      kept.client = client
    },
    tokens: () => kept.tokens,
    saveTokens: (tokens) => {
      kept.tokens = tokens
    },
    redirectToAuthorization: (url) => {
      kept.asked = url
    },
    saveCodeVerifier: (text) => {
      verifier = text
    },
    codeVerifier: () => verifier
  }
  return { kept, provider }
}

/** A token with less than all scopes, which the person of this session allows. */
const tokenFor = async (origin: string, cookie: string, app: string, redirectUrl: string, scope: string) => {
  const verifier = randomBytes(32).toString("base64url")
  const query = new URLSearchParams({
    response_type: "code",
    client_id: app,
    redirect_uri: redirectUrl,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    state: "a state",
    scope
  })
  const asked = await fetch(`${origin}/api/auth/oauth2/authorize?${query}`, { redirect: "manual", headers: { cookie } })
  const request = new URL(asked.headers.get("location") ?? "", origin).search.slice(1)
  const allowed = await fetch(`${origin}/oauth/consent`, {
    method: "POST",
    redirect: "manual",
    headers: { cookie, origin },
    body: new URLSearchParams({ request, decision: "allow", daily_credits: String(dailyCredits) })
  })
  const code = new URL(allowed.headers.get("location") ?? "").searchParams.get("code") ?? ""
  const form = { grant_type: "authorization_code", code, client_id: app, redirect_uri: redirectUrl }
  const answer = await fetch(`${origin}/api/auth/oauth2/token`, {
    method: "POST",
    body: new URLSearchParams({ ...form, code_verifier: verifier })
  })
  return (await answer.json()) as { readonly access_token: string }
}

/** The credits that the person lets the app spend in a day. */
const dailyCredits = 2

describeWithChromium("letting in an app that has a metadata document", () => {
  it.live(
    "the current client signs in without registering, within its person's limit, until they end it",
    () =>
      Effect.gen(function* () {
        const { url, visits } = yield* AppCallback.make
        const { authorityFile, host } = yield* publisher(url)
        const { origin, send } = yield* serverWith({ NODE_EXTRA_CA_CERTS: authorityFile, PAGES_ALLOW_PRIVATE: "true" })
        const document = `https://${host}/client.json`
        const { kept, provider } = makeDocumentProvider(url, document)
        const connect = () => {
          const client = new Latest.Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } })
          const options = { authProvider: provider }
          return { client, transport: new Latest.StreamableHTTPClientTransport(new URL(`${origin}/mcp`), options) }
        }
        const first = connect()
        yield* Effect.flip(Effect.tryPromise(() => first.client.connect(first.transport)))
        const asked = kept.asked ?? assert.fail("the client found no way to sign in")
        assert.strictEqual(asked.searchParams.get("client_id"), document)
        assert.strictEqual(asked.searchParams.get("resource"), `${origin}/mcp`)
        const scopes = (asked.searchParams.get("scope") ?? "").split(" ")
        assert.includeMembers(scopes, ["search", "read"])

        const page = yield* Effect.flatMap(browser, (browser) => Effect.promise(() => browser.newPage()))
        const foreign = new URL(asked)
        foreign.searchParams.set("redirect_uri", `${url}/elsewhere`)
        yield* Effect.promise(async () => {
          await page.goto(foreign.href)
          await page.getByRole("heading", { name: "The app sent an unregistered address" }).waitFor()
          assert.deepStrictEqual(visits, [])
          await page.goto(asked.href)
          await page.getByLabel("Email").fill(person.email)
          await page.getByLabel("Password").fill(person.password)
          await page.getByRole("button", { name: "Sign in", exact: true }).click()
          await page
            .getByRole("heading", { name: "Allow Ada's <i>assistant</i> to use your Quarry account?" })
            .waitFor()
          const text = (await page.locator("main").textContent()) ?? ""
          for (const part of [
            `Verified: ${host} publishes`,
            "Search the web",
            "Read web pages",
            "spends one of your credits"
          ]) {
            assert.include(text, part)
          }
          await page.getByLabel("Daily credit limit").fill(String(dailyCredits))
          await page.getByRole("button", { name: "Allow" }).click()
          await page.waitForURL(/\/callback\?/)
        })
        const answer = visits.find(({ pathname }) => pathname === "/callback")?.searchParams ?? assert.fail("no answer")
        assert.strictEqual(answer.get("iss"), `${origin}/api/auth`)
        yield* Effect.promise(() => first.transport.finishAuth(answer))

        const { client, transport } = connect()
        yield* Effect.promise(() => client.connect(transport))
        const search = (query: string) =>
          Effect.promise(() => client.callTool({ name: "web_search", arguments: { query } }))
        for (let n = 1; n <= dailyCredits; n++)
          assert.notStrictEqual((yield* search(`http caching ${n}`)).isError, true)
        const over = yield* search("http caching again")
        assert.isTrue(over.isError)
        const said = JSON.stringify(over.content)
        assert.include(said, "this app's budget (2 credits each UTC day) has 0 left")
        assert.match(said, /before the budget resets at \d{4}-.*allows more by connecting the app again/)

        const signedIn = yield* send("/api/auth/sign-in/email", person)
        const cookie = signedIn.headers
          .getSetCookie()
          .map((line) => line.split(";", 1).join(""))
          .join("; ")
        const { apps } = yield* Effect.promise(async () => {
          const listed = await fetch(`${origin}/v1/apps`, { headers: { cookie } })
          return (await listed.json()) as { readonly apps: ReadonlyArray<Record<string, unknown>> }
        })
        assert.lengthOf(apps, 1)
        assert.deepInclude(apps[0], { verified_host: host, daily_credits: dailyCredits })
        const wide = kept.tokens ?? assert.fail("no tokens")
        const { access_token } = yield* Effect.promise(() => tokenFor(origin, cookie, document, url, "search"))
        // Without a refresh token, with which the client would get all scopes by itself.
        kept.tokens = { access_token, token_type: "Bearer" }
        kept.asked = undefined
        const askedFor = (): string => kept.asked?.searchParams.get("scope") ?? ""
        const stepping = connect()
        yield* Effect.promise(() => stepping.client.connect(stepping.transport))
        const reading = { name: "read_page", arguments: { url: "https://example.com/" } }
        yield* Effect.flip(Effect.tryPromise(() => stepping.client.callTool(reading)))
        assert.include(askedFor(), "search read", "the client asks for what is missing")
        kept.tokens = wide

        const path = `${origin}/v1/apps/${apps[0]?.id}`
        const ended = yield* Effect.promise(() => fetch(path, { method: "DELETE", headers: { cookie, origin } }))
        assert.strictEqual(ended.status, 204)
        const bearer = { authorization: `Bearer ${kept.tokens?.access_token}` }
        const late = yield* send("/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list" }, bearer)
        assert.strictEqual(late.status, 401, "the token ended at once")
      }),
    120_000
  )
})

describeWithChromium("letting an app in, over real HTTP", () => {
  it.live(
    "the official client finds the way, a person signs in and allows it, and it searches until that is over",
    () =>
      Effect.gen(function* () {
        const { origin, send } = yield* serverWith()
        const { url, visits } = yield* AppCallback.make
        const { kept, provider } = makeProvider(url)

        // The first try is refused, and leaves the client with an address for its person.
        const first = makeClient(origin, provider)
        const refusal = yield* Effect.flip(Effect.tryPromise(() => first.client.connect(first.transport)))
        assert.instanceOf(refusal.cause, UnauthorizedError)
        const asked = kept.asked ?? assert.fail("the client found no way to sign in")
        assert.strictEqual(asked.searchParams.get("resource"), `${origin}/mcp`)

        const page = yield* Effect.flatMap(browser, (browser) => Effect.promise(() => browser.newPage()))
        const complaints: Array<string> = []
        page.on("console", (message) => {
          if (/Content Security|Refused/i.test(message.text())) complaints.push(message.text())
        })
        yield* Effect.promise(() => allow(page, asked))
        assert.deepStrictEqual(complaints, [])
        const code = visits.find(({ pathname }) => pathname === "/callback")?.searchParams.get("code") ?? ""
        yield* Effect.promise(() => first.transport.finishAuth(code))

        const { client, transport } = makeClient(origin, provider)
        yield* Effect.promise(() => client.connect(transport))
        const { tools } = yield* Effect.promise(() => client.listTools())
        assert.includeMembers(
          tools.map(({ name }) => name),
          ["web_search", "account"]
        )
        const call = (name: string, args: Record<string, unknown> = {}) =>
          Effect.promise(() => client.callTool({ name, arguments: args }))
        assert.notStrictEqual((yield* call("web_search", { query: "http caching" })).isError, true)
        assert.include(JSON.stringify(yield* call("account")), "99")

        // The client refreshes by itself when its token is refused.
        const before = kept.tokens ?? assert.fail("no tokens")
        kept.tokens = { ...before, access_token: `quarry_at_${"x".repeat(32)}` }
        yield* call("account")
        assert.notStrictEqual(kept.tokens?.refresh_token, before.refresh_token)

        // A token is accepted here and nowhere else.
        const bearer = { authorization: `Bearer ${kept.tokens?.access_token}` }
        for (const path of ["/v1/query?query=a", "/v1/me", "/v1/usage"]) {
          const answer = yield* Effect.promise(() => fetch(`${origin}${path}`, { headers: bearer }))
          assert.deepStrictEqual([path, answer.status], [path, 401])
          assert.notInclude(answer.headers.get("www-authenticate") ?? "", "resource_metadata")
        }

        // Signing out everywhere reaches the app within ten seconds, and here at once.
        const signedIn = yield* send("/api/auth/sign-in/email", person)
        const cookie = signedIn.headers.getSetCookie().map((line) => line.split(";", 1).join(""))
        yield* send("/api/auth/revoke-sessions", {}, { cookie: cookie.join("; ") })
        const message = { jsonrpc: "2.0", id: 1, method: "tools/list" }
        const late = yield* send("/mcp", message, { ...bearer, accept: "application/json, text/event-stream" })
        assert.strictEqual(late.status, 401)
        assert.strictEqual(
          late.headers.get("www-authenticate"),
          `Bearer error="invalid_token", resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp", scope="search read"`
        )
        const refused = yield* Effect.flip(Effect.tryPromise(() => client.callTool({ name: "account" })))
        assert.instanceOf(refused.cause, UnauthorizedError)
      }),
    120_000
  )
})
