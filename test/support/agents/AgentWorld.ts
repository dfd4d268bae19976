import "../accounts/cheapPasswords.ts"
import { Clock, Duration, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Auth from "../../../src/layers/auth/Auth.ts"
import * as EmailsLog from "../../../src/layers/auth/emails/EmailsLog.ts"
import * as MarketplaceProxy from "../../../src/layers/auth/MarketplaceProxy.ts"
import * as ClientDocumentsNode from "../../../src/layers/auth/oauth/ClientDocumentsNode.ts"
import { AuthRoutes } from "../../../src/services/accounts/AuthRoutes.ts"
import { ConnectedApps, type PersonInAccount } from "../../../src/services/accounts/ConnectedApps.ts"
import { Credentials } from "../../../src/services/accounts/Credentials.ts"
import { Deployment } from "../../../src/services/operations/Deployment.ts"
import type { Keyring, SecretValue } from "../../../src/services/operations/Keyrings.ts"
import { StoreClock } from "../../../src/services/StoreClock.ts"
import { makeBrowser } from "../accounts/SignIn.ts"
import { found, providing, servicesOver, unlimited } from "../api/Services.ts"
import * as TestApi from "../api/TestApi.ts"
import * as EmbeddedDatabase from "../stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../stores/SqlStorage.ts"

export const origin = "http://localhost:4321"

/** The database and services below the server, with a search that finds two results. */
export const layer = servicesOver(
  SqlStorage.layer(EmbeddedDatabase.layer),
  providing(() => Effect.succeed(found(2))),
  { limiter: unlimited }
)

const secretOf = (number: number): SecretValue => ({
  secret: Redacted.make(`the secret number ${number} of a deployment with agents`),
  fingerprint: `${number}`.padStart(8, "0")
})

/** Functions of `public` precede those of Postgres, so all statements use this clock. */
const clockStatements = [
  "create table agent_clock (ahead_ms bigint not null)",
  "insert into agent_clock values (0)",
  `create function public.clock_timestamp() returns timestamptz language sql volatile as
    'select pg_catalog.clock_timestamp() + (select ahead_ms from public.agent_clock) * interval ''1 millisecond'''`,
  "set search_path = public, pg_catalog"
]

/** A deployment whose time a test moves. Its servers share one database, and any of them may restart. */
export const makeWorld = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* Effect.forEach(clockStatements, (statement) => sql.unsafe(statement))
  let aheadMs = 0
  let secrets: readonly [SecretValue, ...Array<SecretValue>] = [secretOf(1)]
  let servers: ReadonlyArray<Server> = []

  const keyring: Keyring = { values: () => secrets, isRotating: () => false }

  const makeServer = Effect.gen(function* () {
    const documents = ClientDocumentsNode.layer({ userAgent: "Quarry/test", allowsPrivate: false })
    const auth = Auth.layer({
      baseUrl: origin,
      secrets: keyring,
      google: undefined,
      github: undefined,
      signUp: { mode: "open", domains: [] },
      registrationsPerMinute: 60
    }).pipe(
      Layer.provide([EmailsLog.layer, documents]),
      Layer.provide(Layer.succeed(StoreClock, { skewMs: () => aheadMs }))
    )
    const marketplace = MarketplaceProxy.layer({ secrets: [], plan: "growth" })
    const deployment = Layer.succeed(Deployment, { origin, demoOrigin: undefined, corsOrigins: [] })
    const services = Credentials.layer.pipe(
      Layer.provide(marketplace),
      Layer.provideMerge(Layer.merge(auth, deployment))
    )
    const context = yield* Layer.build(Layer.fresh(services))
    const api = yield* Effect.provide(TestApi.make, context)
    const { end } = yield* Effect.provide(ConnectedApps, context)

    const handle: AuthRoutes["Service"]["handle"] = (request, address = "192.0.2.1") =>
      Effect.gen(function* () {
        const { pathname, search } = new URL(request.url)
        const headers = new Headers(request.headers)
        headers.set("x-forwarded-for", address)
        const text = request.method === "GET" ? undefined : yield* Effect.promise(() => request.text())
        const answer = yield* api.send(request.method, `${pathname}${search}`, {
          headers,
          redirect: "manual",
          ...(text === undefined ? {} : { body: text })
        })
        return new Response(answer.text === "" ? null : answer.text, answer)
      })
    return { api, handle, disconnect: end }
  })

  const start = Effect.map(Effect.all([makeServer, makeServer]), (started) => {
    servers = started
  })
  yield* start
  let turn = 0
  const server = (): Server => servers[turn++ % servers.length] as Server

  /** Sends each request to another server, as a load balancer does. */
  const routes = AuthRoutes.of({ handle: (request, address) => server().handle(request, address) })
  const site = { baseUrl: origin, routes }

  return {
    site,
    now: Effect.map(Clock.currentTimeMillis, (now) => now + aheadMs),
    advance: (duration: Duration.Duration) => {
      aheadMs += Duration.toMillis(duration)
      return sql`update agent_clock set ahead_ms = ${aheadMs}`
    },
    restart: start,
    /** Adds a new AUTH_SECRET. The one before it is still accepted, and those before that are not. */
    rotate: Effect.sync(() => {
      const [present] = secrets
      secrets = [secretOf(Number(present.fingerprint) + 1), present]
    }),
    disconnect: (person: PersonInAccount, app: string) => server().disconnect(person, app),
    makeBrowser,
    sql
  }
})

interface Server {
  readonly api: TestApi.TestApi
  readonly handle: AuthRoutes["Service"]["handle"]
  readonly disconnect: ConnectedApps["Service"]["end"]
}

export type World = Effect.Success<typeof makeWorld>
