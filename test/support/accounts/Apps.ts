import { createHash, randomBytes } from "node:crypto"
import { Effect } from "effect"
import { authPath } from "../../../src/domain/accounts/OAuth.ts"
import type { Answered, makeBrowser, Site } from "./SignIn.ts"

export type Browser = ReturnType<typeof makeBrowser>

/** The redirect address of an app on a user's machine. */
export const callback = "http://127.0.0.1:33418/callback"

let addresses = 0

/** Returns a separate address per app, because registrations are limited by address. */
export const nextAddress = (): string => `10.200.${(++addresses >> 8) & 255}.${addresses & 255}`

export const post = Effect.fnUntraced(function* (
  replica: Site,
  path: string,
  body: string | URLSearchParams,
  options: { readonly address?: string; readonly headers?: Record<string, string> } = {}
) {
  const type = typeof body === "string" ? "application/json" : "application/x-www-form-urlencoded"
  const request = new Request(`${replica.baseUrl}${authPath}${path}`, {
    method: "POST",
    headers: { "content-type": type, ...options.headers },
    body: String(body)
  })
  const response = yield* replica.routes.handle(request, options.address ?? nextAddress())
  const text = yield* Effect.promise(() => response.text())
  const answered: Answered = {
    status: response.status,
    headers: response.headers,
    text,
    get json() {
      return JSON.parse(text)
    }
  }
  return answered
})

export const register = (replica: Site, metadata: object = {}, address?: string) =>
  post(
    replica,
    "/oauth2/register",
    JSON.stringify({ client_name: "An App", redirect_uris: [callback], ...metadata }),
    address === undefined ? {} : { address }
  )

export const makeApp = (replica: Site) => Effect.map(register(replica), ({ json }) => String(json.client_id))

export const makeProof = () => {
  const verifier = randomBytes(32).toString("base64url")
  return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") }
}

type Parameters = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

/** The authorization request of an app, with a test's changes. */
export const authorizationQuery = (
  replica: Site,
  app: string,
  challenge: string,
  changes: Parameters = {}
): URLSearchParams => {
  const parameters: Parameters = {
    response_type: "code",
    client_id: app,
    redirect_uri: callback,
    code_challenge: challenge,
    code_challenge_method: "S256",
    state: "a state",
    resource: `${replica.baseUrl}/mcp`,
    ...changes
  }
  return new URLSearchParams(
    Object.entries(parameters).flatMap(([name, value]) =>
      (value === undefined ? [] : typeof value === "string" ? [value] : value).map((one): [string, string] => [
        name,
        one
      ])
    )
  )
}

/** The redirect that a browser gets for an authorization request. */
export const authorize = (replica: Site, browser: Browser, query: URLSearchParams) =>
  Effect.map(browser.get(replica, `/oauth2/authorize?${query}`), ({ headers }) => headers.get("location") ?? "")

/** The redirect to the app after the user has consented. */
export const allow = Effect.fnUntraced(function* (replica: Site, browser: Browser, query: URLSearchParams) {
  const asked = yield* authorize(replica, browser, query)
  const signed = asked.slice(asked.indexOf("?") + 1)
  const { json } = yield* browser.post(replica, "/oauth2/consent", { accept: true, oauth_query: signed })
  return new URL(String(json.url))
})

export interface Tokens {
  readonly access: string
  readonly refresh: string
}

export const tokensOf = ({ json }: Answered): Tokens => ({
  access: String(json.access_token),
  refresh: String(json.refresh_token)
})

/** An authorization code, and a function that redeems it. */
export const makeCode = Effect.fnUntraced(function* (replica: Site, browser: Browser, app: string) {
  const { challenge, verifier } = makeProof()
  const answer = yield* allow(replica, browser, authorizationQuery(replica, app, challenge))
  const code = answer.searchParams.get("code") ?? ""
  const redeem = (changes: Record<string, string> = {}) =>
    post(
      replica,
      "/oauth2/token",
      new URLSearchParams({
        grant_type: "authorization_code",
        code,
        client_id: app,
        code_verifier: verifier,
        redirect_uri: callback,
        ...changes
      })
    )
  return { code, redeem }
})

export const refresh = (replica: Site, app: string, token: string, changes: Record<string, string> = {}) =>
  post(
    replica,
    "/oauth2/token",
    new URLSearchParams({ grant_type: "refresh_token", refresh_token: token, client_id: app, ...changes })
  )

export const revoke = (replica: Site, app: string, token: string, hint?: string) =>
  post(
    replica,
    "/oauth2/revoke",
    new URLSearchParams({ token, client_id: app, ...(hint === undefined ? {} : { token_type_hint: hint }) })
  )

/** An app with tokens of a user. */
export const letIn = Effect.fnUntraced(function* (replica: Site, browser: Browser) {
  const app = yield* makeApp(replica)
  const { code, redeem } = yield* makeCode(replica, browser, app)
  return { app, code, redeem, tokens: tokensOf(yield* redeem()) }
})
