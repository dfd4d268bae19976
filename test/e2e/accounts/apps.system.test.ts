import { createHash, randomBytes } from "node:crypto"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import { assert, it } from "@effect/vitest"
import * as Latest from "@modelcontextprotocol/client"
import { Effect } from "effect"
import { browser, describeWithChromium } from "../../support/processes/Chromium.ts"
import { startServer } from "../../support/processes/Spawned.ts"
import * as AppCallback from "../../support/servers/AppCallback.ts"
import * as Certificates from "../../support/servers/Certificates.ts"
import * as EmbeddedStore from "../../support/stores/EmbeddedStore.ts"

const person = { email: "ada@example.com", password: "correct horse battery staple", name: "Ada" }

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

/** A site that publishes an app's metadata document over TLS, and the CA file that Quarry must trust. */
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

/** State that the current client stores when it authorizes by metadata document. */
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

/** An access token with fewer scopes than the app has, granted by the person of this session. */
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

/** The daily credit limit that the person sets for the app. */
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
        const complaints: Array<string> = []
        page.on("console", (message) => {
          if (/Content Security|Refused/i.test(message.text())) complaints.push(message.text())
        })
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
        assert.deepStrictEqual(complaints, [])
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
        // No refresh token: with one, the client would request all scopes again.
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
