import "./cheapPasswords.ts"
import { Effect, Layer, Queue, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Auth from "../../src/layers/auth/Auth.ts"
import type { ProviderClient } from "../../src/layers/auth/Options.ts"
import { AccessTokens } from "../../src/services/AccessTokens.ts"
import { AuthorizationRequests } from "../../src/services/AuthorizationRequests.ts"
import { AuthRoutes } from "../../src/services/AuthRoutes.ts"
import { ConnectedApps } from "../../src/services/ConnectedApps.ts"
import { type Email, Emails } from "../../src/services/Emails.ts"
import { type Keyring, singleKeyring } from "../../src/services/Keyrings.ts"
import { Sessions } from "../../src/services/Sessions.ts"
import { type Browser, SignIn } from "../../src/services/SignIn.ts"

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
  /** True with a mail server. */
  readonly delivers?: boolean
  readonly google?: ProviderClient
  readonly github?: ProviderClient
}

let clients = 0

/** An address of its own for each browser: their attempts are counted apart. */
const nextClient = (): string => `10.${(++clients >> 16) & 255}.${(clients >> 8) & 255}.${clients & 255}`

/** One replica of the service with an outbox of its own, over the database of the test. */
export const makeReplica = Effect.fnUntraced(function* (options: ReplicaOptions = {}) {
  const baseUrl = options.baseUrl ?? "http://quarry.test"
  const outbox = yield* Queue.unbounded<Email>()
  const emails = Layer.succeed(Emails, {
    delivers: options.delivers ?? false,
    send: (email) => Effect.asVoid(Queue.offer(outbox, email)),
    deliver: (email) => Effect.asVoid(Queue.offer(outbox, email))
  })
  const secrets =
    options.secrets ??
    singleKeyring(Redacted.make(options.secret ?? "a secret of at least thirty-two characters for tests"))
  const context = yield* Layer.build(
    Layer.fresh(Auth.layer({ baseUrl, secrets, google: options.google, github: options.github })).pipe(
      Layer.provide(emails)
    )
  )
  const services = yield* Effect.all({
    sessions: Sessions,
    routes: AuthRoutes,
    signIn: SignIn,
    authorizationRequests: AuthorizationRequests,
    accessTokens: AccessTokens,
    connectedApps: ConnectedApps
  }).pipe(Effect.provide(context))

  /** The link in the next email. */
  const nextLink = Effect.map(Queue.take(outbox), ({ text }) => {
    const link = /http\S+/.exec(text)?.[0] ?? ""
    return { link, token: new URL(link).searchParams.get("token") ?? "" }
  })

  return { ...services, nextLink, waiting: Queue.size(outbox), baseUrl }
})

export type Replica = Effect.Success<ReturnType<typeof makeReplica>>

/** A browser: keeps its cookies and names the page's origin. */
export const makeBrowser = (address: string = nextClient()) => {
  const cookies = new Map<string, string>()
  /** The address of its requests, which a test may change. */
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
    { baseUrl, routes }: Replica,
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

  const post = (replica: Replica, path: string, body?: unknown, headers?: Record<string, string>) =>
    send(replica, "POST", path, body, headers)
  const get = (replica: Replica, path: string) => send(replica, "GET", path)

  return Object.assign(from, {
    cookies,
    /** As the pages of this deployment present it. */
    toBrowser: (): Browser => ({
      cookies: cookies.size === 0 ? undefined : Redacted.make(cookieHeader()),
      userAgent: undefined,
      address: from.client
    }),
    keep: (lines: ReadonlyArray<Redacted.Redacted>) => keep(lines.map(Redacted.value)),
    post,
    get,
    signUp: (replica: Replica, email: string) => post(replica, "/sign-up/email", { email, password, name: "A Person" }),
    signIn: (replica: Replica, email: string, word = password) =>
      post(replica, "/sign-in/email", { email, password: word }),
    /** As the routes that accept a session cookie see it. */
    whoAmI: ({ sessions }: Replica) =>
      sessions.authenticate(Redacted.make(cookies.get(sessions.cookieName) ?? "nothing"))
  })
}

/** Everything in every table, as text. */
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
