import { Effect, Schedule } from "effect"
import { FakePolar } from "../../../test/support/polar/FakePolar.ts"
import { freePort } from "../../../test/support/processes/Spawned.ts"
import { freshDatabase } from "../../../test/support/stores/Database.ts"
import * as Engine from "../Engine.ts"
import * as Exchange from "../Exchange.ts"
import { type Document, describeRoutes } from "../hostile/RandomRequests.ts"
import * as RouteList from "../hostile/RouteList.ts"
import * as Replica from "../Replica.ts"
import * as Store from "../Store.ts"
import * as Wallet from "../Wallet.ts"

const quota = 1_000_000_000

/** The maximum for an account, so that our requests never exceed the rate limit. */
const concurrency = 10_000

/** Settings that enable every route. */
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
  // Each request has its own client address in a header, on a shared connection.
  TRUSTED_PROXY_HOPS: "1",
  PROVIDER_TIMEOUT: "1 second",
  LOG_LEVEL: "error"
})

const openAccount = Effect.fnUntraced(function* (store: Store.Store, call: Wallet.Call) {
  const { cookie, email } = yield* Wallet.newPerson(call)
  const account = yield* store.accounts.byEmail(email)
  yield* store.accounts.setPlan(account.id, { plan: "custom", quota, concurrency })
  // The server caches accounts for a few seconds.
  yield* Effect.repeat(call("GET", "/v1/me", undefined, cookie), {
    until: ({ json }) => json.plan === "custom",
    schedule: Schedule.spaced("500 millis")
  })
  return { cookie, wallet: yield* Wallet.make(call, cookie) }
})

/** Starts a server on Postgres with an upstream, a payment provider and an account. */
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
  let hashCount = 0
  const replica = yield* Replica.start({
    database,
    engine: yield* Engine.start,
    env: settingsOf(polar, adminPort, keyless.accountId),
    onReport: (report) => {
      routes.take(report)
      if ("hashed" in report) hashCount++
    }
  })
  const exchange = yield* Exchange.make
  const call = Wallet.callerOf(exchange, replica.port)
  const { cookie, wallet } = yield* openAccount(store, call)
  const { json } = yield* call("GET", "/openapi.json", undefined)
  const document: Document = json // The server's own document.
  return {
    ...{ store, replica, exchange, call, cookie, wallet, document },
    ports: { public: replica.port, private: adminPort },
    routes: describeRoutes(document, routes.listed()),
    /** Password hashes since the start. */
    hashCount: () => hashCount
  }
})

export type CostServer = Effect.Success<typeof start>
