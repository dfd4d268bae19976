import { Effect, Schedule } from "effect"
import { freshDatabase } from "../../support/Database.ts"
import { FakePolar } from "../../support/polar/FakePolar.ts"
import { freePort } from "../../support/Spawned.ts"
import * as Engine from "./Engine.ts"
import * as Exchange from "./Exchange.ts"
import { type Document, describeRoutes } from "./RandomRequests.ts"
import * as Replica from "./Replica.ts"
import * as RouteList from "./RouteList.ts"
import * as Store from "./Store.ts"
import * as Wallet from "./Wallet.ts"

const quota = 1_000_000_000

/** The settings of a server on which every route is open. */
const settingsOf = (polar: FakePolar, adminPort: number, keylessAccount: string) => ({
  ...Wallet.settings,
  ...polar.environment(),
  ADMIN_PORT: String(adminPort),
  COMPAT: "searxng,tavily,openwebui,perplexity",
  COMPAT_KEYLESS_ACCOUNT: keylessAccount,
  COMPAT_KEYLESS_NETWORKS: "10.0.0.0/8",
  GOOGLE_CLIENT_ID: "a client",
  GOOGLE_CLIENT_SECRET: "a secret",
  GITHUB_CLIENT_ID: "a client",
  GITHUB_CLIENT_SECRET: "a secret",
  // So that each request may have an address of its own on a connection that is kept.
  TRUSTED_PROXY_HOPS: "1",
  PROVIDER_TIMEOUT: "1 second",
  LOG_LEVEL: "error"
})

/** An account with a high limit, and what it may present. */
const openAccount = Effect.fnUntraced(function* (store: Store.Store, call: Wallet.Call) {
  const { cookie, email } = yield* Wallet.newPerson(call)
  const account = yield* store.accounts.byEmail(email)
  yield* store.accounts.setPlan(account.id, { plan: "custom", quota, concurrency: 10_000 })
  // The server keeps an account for a moment.
  yield* Effect.repeat(call("GET", "/v1/me", undefined, cookie), {
    until: ({ json }) => json.plan === "custom",
    schedule: Schedule.spaced("500 millis")
  })
  return { cookie, wallet: yield* Wallet.make(call, cookie) }
})

/** A server on Postgres, with what stands beside it. It says which routes it has. */
export const start = Effect.gen(function* () {
  const { url: database } = yield* freshDatabase
  const store = yield* Store.open(database)
  const keyless = yield* Store.customer(store, { quota })
  const adminPort = yield* freePort
  const polar = yield* Effect.acquireRelease(
    Effect.promise(() => new FakePolar({}).listen(0, "127.0.0.1")),
    (fake) => Effect.promise(() => fake.close())
  )
  const routes = RouteList.make()
  let hashes = 0
  const replica = yield* Replica.start({
    database,
    engine: yield* Engine.start,
    env: settingsOf(polar, adminPort, keyless.accountId),
    onReport: (report) => {
      routes.take(report)
      if ("hashed" in report) hashes++
    }
  })
  const exchange = yield* Exchange.make
  const call = Wallet.callerOf(exchange, replica.port)
  const account = yield* openAccount(store, call)
  const { json } = yield* call("GET", "/openapi.json", undefined)
  const document: Document = json // The server's own document.
  return {
    ...{ store, replica, exchange, call, ...account, document },
    ports: { public: replica.port, private: adminPort },
    routes: describeRoutes(document, routes.listed()),
    /** Passwords that it has hashed. */
    hashes: () => hashes
  }
})

export type CostServer = Effect.Success<typeof start>
