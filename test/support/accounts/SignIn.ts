import "./cheapPasswords.ts"
import { assert } from "@effect/vitest"
import { Effect, Layer, Queue, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { SignUpPolicy } from "../../../src/domain/accounts/signUp.ts"
import * as Auth from "../../../src/layers/auth/Auth.ts"
import type { ProviderClient, SingleSignOn } from "../../../src/layers/auth/betterAuth/Options.ts"
import * as ClientDocumentsNode from "../../../src/layers/auth/oauth/ClientDocumentsNode.ts"
import { AccessTokens } from "../../../src/services/accounts/AccessTokens.ts"
import { AuthorizationRequests } from "../../../src/services/accounts/AuthorizationRequests.ts"
import { AuthRoutes } from "../../../src/services/accounts/AuthRoutes.ts"
import { ClientDocuments } from "../../../src/services/accounts/ClientDocuments.ts"
import { ConnectedApps } from "../../../src/services/accounts/ConnectedApps.ts"
import { type Email, Emails } from "../../../src/services/accounts/Emails.ts"
import { Sessions } from "../../../src/services/accounts/Sessions.ts"
import { type Browser, SignIn } from "../../../src/services/accounts/SignIn.ts"
import { type Keyring, singleKeyring } from "../../../src/services/operations/Keyrings.ts"

export const password = "correct horse battery staple"

export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies of every shape and asserts what it finds.
  readonly json: any
}

export interface ReplicaOptions {
  readonly baseUrl?: string
  readonly secret?: string
  readonly secrets?: Keyring
  /** True if there is a mail server. */
  readonly delivers?: boolean
  readonly google?: ProviderClient
  readonly github?: ProviderClient
  readonly oidc?: SingleSignOn
  readonly signUp?: SignUpPolicy
  readonly requiresSecondFactor?: boolean
  readonly registrationsPerMinute?: number
  /** Replaces the real fetches of apps' metadata documents, which reach public addresses only. */
  readonly documents?: ClientDocuments["Service"]
}

const documentsOf = ({ documents }: ReplicaOptions) =>
  documents === undefined
    ? ClientDocumentsNode.layer({ userAgent: "Quarry/test", allowsPrivate: false })
    : Layer.succeed(ClientDocuments, documents)

let clients = 0

/** Returns a separate address per browser, because attempts are limited by address. */
const nextClient = (): string => `10.${(++clients >> 16) & 255}.${(clients >> 8) & 255}.${clients & 255}`

/** One replica of the service with its own outbox, on the test's database. */
export const makeReplica = Effect.fnUntraced(function* (options: ReplicaOptions = {}) {
  const baseUrl = options.baseUrl ?? "http://quarry.test"
  const outbox = yield* Queue.unbounded<Email>()
  /** Emails about sign-ins from new places, which most tests cause by the way. */
  const notices = yield* Queue.unbounded<Email>()
  const emails = Layer.succeed(Emails, {
    delivers: options.delivers ?? false,
    send: (email) => Effect.asVoid(Queue.offer(email.subject.startsWith("New sign-in") ? notices : outbox, email)),
    deliver: (email) => Effect.asVoid(Queue.offer(outbox, email))
  })
  const secrets =
    options.secrets ??
    singleKeyring(Redacted.make(options.secret ?? "a secret of at least thirty-two characters for tests"))
  const context = yield* Layer.build(
    Layer.fresh(
      Auth.layer({
        baseUrl,
        secrets,
        google: options.google,
        github: options.github,
        oidc: options.oidc,
        signUp: options.signUp ?? { mode: "open", domains: [] },
        requiresSecondFactor: options.requiresSecondFactor ?? false,
        registrationsPerMinute: options.registrationsPerMinute ?? 60
      })
    ).pipe(Layer.provide([emails, documentsOf(options)]))
  )
  const services = yield* Effect.all({
    sessions: Sessions,
    routes: AuthRoutes,
    signIn: SignIn,
    authorizationRequests: AuthorizationRequests,
    accessTokens: AccessTokens,
    connectedApps: ConnectedApps
  }).pipe(Effect.provide(context))

  const linkIn = ({ text }: Email) => {
    const link = /http\S+/.exec(text)?.[0] ?? ""
    return { link, token: new URL(link).searchParams.get("token") ?? "" }
  }
  const nextLink = Effect.map(Queue.take(outbox), linkIn)
  const nextNotice = Effect.map(Queue.take(notices), linkIn)

  /** The token in the next email that contains one. Some emails only link to the dashboard. */
  const nextToken = Effect.map(Effect.repeat(nextLink, { until: ({ token }) => token !== "" }), ({ token }) => token)

  return { ...services, nextLink, nextNotice, nextToken, waiting: Queue.size(outbox), baseUrl }
})

export type Replica = Effect.Success<ReturnType<typeof makeReplica>>

/** Where browsers and apps send their requests. */
export type Site = Pick<Replica, "baseUrl" | "routes">

/** A browser that keeps cookies and sends the page's origin. */
export const makeBrowser = (address: string = nextClient()) => {
  const cookies = new Map<string, string>()
  /** Client address, which a test may change. */
  const from = { client: address }

  const cookieHeader = () => [...cookies].map(([name, value]) => `${name}=${value}`).join("; ")

  const keep = (lines: ReadonlyArray<string>) => {
    for (const line of lines) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === "" || /max-age=0/i.test(line)) cookies.delete(name)
      else cookies.set(name, value)
    }
  }

  const send = Effect.fnUntraced(function* (
    { baseUrl, routes }: Site,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {}
  ) {
    const cookie = cookieHeader()
    const request = new Request(new URL(path.startsWith("/") ? `${baseUrl}/api/auth${path}` : path), {
      method,
      headers: {
        origin: baseUrl,
        ...(cookie === "" ? {} : { cookie }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers
      },
      body: body === undefined ? null : JSON.stringify(body)
    })
    const response = yield* routes.handle(request, from.client)
    const text = yield* Effect.promise(() => response.text())
    keep(response.headers.getSetCookie())
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

  const post = (replica: Site, path: string, body?: unknown, headers?: Record<string, string>) =>
    send(replica, "POST", path, body, headers)
  const get = (replica: Site, path: string) => send(replica, "GET", path)

  return Object.assign(from, {
    cookies,
    /** The browser as the pages of this deployment see it. */
    toBrowser: (): Browser => ({
      cookies: cookies.size === 0 ? undefined : Redacted.make(cookieHeader()),
      userAgent: undefined,
      address: from.client
    }),
    keep: (lines: ReadonlyArray<Redacted.Redacted>) => keep(lines.map(Redacted.value)),
    post,
    get,
    signUp: (replica: Site, email: string) => post(replica, "/sign-up/email", { email, password, name: "A Person" }),
    signIn: (replica: Site, email: string, word = password) =>
      post(replica, "/sign-in/email", { email, password: word }),
    /** The session as routes that accept the cookie see it. */
    whoAmI: ({ sessions }: Replica) =>
      sessions.authenticate(Redacted.make(cookies.get(sessions.cookieName) ?? "nothing"))
  })
}

/** Resets the library's own rate limits, such as three sign-ins in ten seconds, which tests would have to wait for. */
export const liftShortLimits = Effect.orDie(
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`delete from auth_rate_limits`)
)

/** The contents of all tables as text. */
export const dumpOf = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const names = yield* sql<{ readonly name: string }>`
    select quote_ident(table_name) as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'`
  const rows = yield* Effect.forEach(names, ({ name }) =>
    sql.unsafe(`select row_to_json(t)::text as line from ${name} t`)
  )
  return rows
    .flat()
    .map(({ line }: { line?: string }) => line)
    .join("\n")
}).pipe(Effect.orDie)

/** The client registration at GitHub. */
export const providerClient = { clientId: "a-client", clientSecret: Redacted.make("a client's secret") }
export const accessToken = "gho_an_access_token_of_github"

/** The address that a browser is redirected to when it signs in with GitHub. */
export const askGitHub = Effect.fnUntraced(function* (replica: Replica, browser: ReturnType<typeof makeBrowser>) {
  const { json } = yield* browser.post(replica, "/sign-in/social", { provider: "github", callbackURL: "/dashboard" })
  const url = new URL(json.url)
  assert.strictEqual(url.origin, "https://github.com")
  assert.strictEqual(url.searchParams.get("redirect_uri"), `${replica.baseUrl}/api/auth/callback/github`)
  return { state: url.searchParams.get("state") ?? assert.fail("no state") }
})

interface GitHubPerson {
  /** The email address by default. */
  readonly id?: string
  readonly email: string
  readonly verified: boolean
}

/** The response to a browser that returns from GitHub with this user's data. */
export const comeBackFromGitHub = Effect.fnUntraced(function* (
  replica: Replica,
  browser: ReturnType<typeof makeBrowser>,
  { email, id = email, verified }: GitHubPerson
) {
  const { state } = yield* askGitHub(replica, browser)
  const person = { id, login: "person", name: "A Person", email, avatar_url: "https://github.test/a.png" }
  const answers: Record<string, unknown> = {
    "https://github.com/login/oauth/access_token": { access_token: accessToken, token_type: "bearer", scope: "" },
    "https://api.github.com/user": person,
    "https://api.github.com/user/emails": [{ email, primary: true, verified }]
  }
  const { fetch } = globalThis
  globalThis.fetch = async (input) => Response.json(answers[String(input)])
  return yield* browser
    .get(replica, `/callback/github?code=a-code&state=${state}`)
    .pipe(Effect.ensuring(Effect.sync(() => Object.assign(globalThis, { fetch }))))
})

/** A browser that has signed in with GitHub. */
export const signInAtGitHub = Effect.fnUntraced(function* (replica: Replica, person: GitHubPerson) {
  const browser = makeBrowser()
  yield* comeBackFromGitHub(replica, browser, person)
  return browser
})

/** All routes that accept a body. */
export const postRoutes = [
  "/sign-up/email",
  "/sign-in/email",
  "/sign-in/social",
  "/sign-out",
  "/revoke-sessions",
  "/change-password",
  "/request-password-reset",
  "/reset-password",
  "/send-verification-email",
  "/two-factor/enable",
  "/two-factor/disable",
  "/two-factor/verify-totp",
  "/two-factor/verify-backup-code",
  "/two-factor/generate-backup-codes",
  "/passkey/verify-registration",
  "/passkey/verify-authentication",
  "/passkey/delete-passkey",
  "/oauth2/token",
  "/oauth2/revoke",
  "/oauth2/register",
  "/oauth2/public-client-prelogin",
  "/oauth2/consent"
]
