import { Context, Effect, Layer, Schedule } from "effect"
import { demoPerMinute } from "../../domain/accounts/Principal.ts"
import { formatAddress } from "../../domain/net/address.ts"
import { isLoopbackHost } from "../../domain/net/Network.ts"
import { maxBulkRows } from "../../domain/search/BulkRequest.ts"
import { targets } from "../../domain/search/Target.ts"
import { Accounts } from "../../services/accounts/Accounts.ts"
import { People } from "../../services/accounts/People.ts"
import { KeyStore } from "../../services/keys/KeyStore.ts"
import { Readiness } from "../../services/operations/Readiness.ts"
import { Providers } from "../../services/providers/Providers.ts"
import { AppConfig } from "../../settings/Settings.ts"
import { LogFormat } from "../Logging.ts"
import { fill, fillIn, fillRestIn } from "../store/starterIndex.ts"
import { type DeveloperAccess, developerEmail, greet, storageLine } from "./Greeting.ts"

/** Leaves the CPU to the start and the first search. */
const untilServed = Effect.flatMap(Readiness, ({ report }) =>
  Effect.repeat(report, { until: ({ ready }) => ready, schedule: Schedule.spaced("100 millis") })
).pipe(Effect.andThen(Effect.sleep("1 second")))

const inBackground = <E, R>(load: Effect.Effect<void, E, R>) =>
  Effect.andThen(untilServed, load).pipe(
    Effect.catchCause((cause) => Effect.logWarning("The starter documents could not be loaded.", cause)),
    Effect.forkScoped
  )

/** On a new embedded database, creates an account with a key and fills the index, so that `curl` works at once. */
export class FirstStart extends Context.Service<
  FirstStart,
  {
    /** Shown only once. Undefined on later starts and on Postgres. */
    readonly access: DeveloperAccess | undefined
  }
>()("quarry/process/FirstStart") {
  static readonly layer = Layer.effect(
    FirstStart,
    Effect.gen(function* () {
      const { databaseUrl, dataDir } = yield* AppConfig
      if (databaseUrl !== undefined) return { access: undefined }
      if (dataDir !== "memory:") yield* inBackground(fillRestIn(dataDir))
      const accounts = yield* Accounts
      const keys = yield* KeyStore
      const account = yield* accounts
        .byEmail(developerEmail)
        .pipe(Effect.catchTag("not_found", () => accounts.create({ email: developerEmail, plan: "business" })))
      // The key is created last: if it is missing, the first start was interrupted and is repeated.
      if ((yield* keys.list(account.id)).length > 0) return { access: undefined }
      yield* dataDir === "memory:" ? fill : fillIn(dataDir)
      const { link } = yield* Effect.flatMap(People, (people) => people.makeSignInLink(account))
      const { secret: key } = yield* keys.create(account.id, { label: "developer", mode: "live" })
      return { access: { key, link } }
    }).pipe(Effect.orDie)
  )
}

const warnOfUnserved = Effect.gen(function* () {
  const providers = yield* Providers
  for (const target of targets) {
    if (yield* providers.serves(target)) continue
    yield* Effect.logWarning(
      `Nothing serves ${target}: it has no provider, or only the built-in index without documents. Its searches fail ` +
        "with upstream_error and are not charged. Configure a provider with QUARRY_PROVIDERS or SEARXNG_URL, or load " +
        "documents: npm run quarry -- index load FILE"
    )
  }
})

const warnOfKeylessCallers = Effect.gen(function* () {
  const { compatKeylessAccount, compatKeylessNetworks = [], demoOrigin, host } = yield* AppConfig
  if (isLoopbackHost(host)) return
  if (demoOrigin !== undefined) {
    yield* Effect.logWarning(
      `DEMO_ORIGIN is set and HOST is ${host}: anyone who can reach this port can search without a key at your expense, ` +
        `${demoPerMinute} requests a minute from each address with up to ${maxBulkRows} searches each. ` +
        "Unset DEMO_ORIGIN to stop this."
    )
  }
  if (compatKeylessAccount !== undefined) {
    yield* Effect.logWarning(
      `COMPAT_KEYLESS_ACCOUNT is set and HOST is ${host}: anyone with an address in ${compatKeylessNetworks.join(", ")} ` +
        `can spend the credits of ${compatKeylessAccount} without a key, and a container gateway can give such an address ` +
        "to callers from anywhere. Unset COMPAT_KEYLESS_ACCOUNT or do not publish this port to stop this."
    )
  }
})

type AnnounceServices = AppConfig | FirstStart | Providers | Readiness

export const announce: Effect.Effect<void, never, AnnounceServices> = Effect.gen(function* () {
  const config = yield* AppConfig
  const { baseUrl, billingProvider, databaseUrl, embeddedSync, marketplacePlan } = config
  const { marketplaceProxySecret, smtpUrl } = config
  if (config.quarryBackground === "off") {
    yield* Effect.logWarning(
      "QUARRY_BACKGROUND is off: this server answers requests and queues events. It does not deliver events, send emails, " +
        "reconcile payments, return expired holds, or delete old data."
    )
  }
  const { access } = yield* FirstStart
  if (databaseUrl === undefined && config.dataDir !== "memory:" && embeddedSync === "off") {
    yield* Effect.logWarning(
      "EMBEDDED_SYNC is off: a power cut can lose charges or damage the store. Unset it except for tests and benchmarks."
    )
  }
  // On a terminal, the greeting says so.
  if (databaseUrl === undefined && (yield* LogFormat) === "json") {
    yield* Effect.logWarning(`${storageLine(config)} Set DATABASE_URL for production.`)
  }
  if ((marketplacePlan === undefined) !== (marketplaceProxySecret === undefined)) {
    const unset = marketplacePlan === undefined ? "MARKETPLACE_PLAN" : "MARKETPLACE_PROXY_SECRET"
    yield* Effect.logWarning(`${unset} is not set: the marketplace is off.`)
  }
  if (billingProvider !== undefined && smtpUrl === undefined) {
    yield* Effect.logWarning(
      "SMTP_URL is not set, so email addresses are not confirmed: anyone can sign up with the address of a customer of " +
        "the payment provider and see that customer's orders. Set SMTP_URL before you sell."
    )
  }
  yield* warnOfKeylessCallers
  yield* warnOfUnserved
  const address = yield* Effect.flatMap(Readiness, (readiness) => readiness.address)
  const bound = address === undefined ? baseUrl : `http://${formatAddress(address)}`
  yield* greet({
    bound,
    baseUrl,
    access,
    store: databaseUrl === undefined ? config : undefined,
    searchesOnlyIndex: config.quarryProviders === undefined && config.searxngUrl === undefined
  })
})
