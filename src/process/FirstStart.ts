import { Console, Context, DateTime, Effect, Layer, Redacted } from "effect"
import { maxBulkRows } from "../domain/BulkRequest.ts"
import { isLoopbackHost } from "../domain/Network.ts"
import { demoPerMinute } from "../domain/Principal.ts"
import { targets } from "../domain/Target.ts"
import { Accounts } from "../services/Accounts.ts"
import { KeyStore } from "../services/KeyStore.ts"
import { People } from "../services/People.ts"
import { Providers } from "../services/Providers.ts"
import { AppConfig } from "../settings/Settings.ts"
import { LogFormat } from "./Logging.ts"
import { fillIndex } from "./starterIndex.ts"

/** In the form that sign-in takes for an address, below a name that nobody else can have (RFC 6761). */
const developerEmail = "developer@quarry.localhost"

/** The secrets of the developer's account. */
export interface DeveloperAccess {
  readonly key: Redacted.Redacted
  /** Lets a person choose a password for the dashboard, once and within an hour. */
  readonly link: Redacted.Redacted
}

/**
 * Prepares a store for the first search. On the embedded default the first start makes a developer account with one
 * live key and fills the index, so that the printed `curl` line works at once.
 */
export class FirstStart extends Context.Service<
  FirstStart,
  {
    /** The access to the account made by this start, to be shown this once; undefined on later starts and on Postgres. */
    readonly access: DeveloperAccess | undefined
  }
>()("quarry/process/FirstStart") {
  static readonly layer = Layer.effect(
    FirstStart,
    Effect.gen(function* () {
      if ((yield* AppConfig).databaseUrl !== undefined) return { access: undefined }
      const accounts = yield* Accounts
      const keys = yield* KeyStore
      const account = yield* accounts
        .byEmail(developerEmail)
        .pipe(Effect.catchTag("not_found", () => accounts.create({ email: developerEmail, plan: "business" })))
      // The key comes last: a first start that was cut short left no key, and the next one finishes its work.
      if ((yield* keys.list(account.id)).length > 0) return { access: undefined }
      yield* fillIndex
      const { link } = yield* Effect.flatMap(People, (people) => people.makeSignInLink(account))
      const { secret: key } = yield* keys.create(account.id, { label: "developer", mode: "live" })
      return { access: { key, link } }
    }).pipe(Effect.orDie)
  )
}

const searchLine = (baseUrl: string, { key }: DeveloperAccess): string =>
  `curl -H 'Authorization: Bearer ${Redacted.value(key)}' '${baseUrl}/v1/query?query=http+caching'`

const keyIntroduction = "An account for you to develop with. Its API key is shown this once:"

const linkIntroduction = `The dashboard takes ${developerEmail} and the password that you choose here, once and within an hour:`

/** For a person at a terminal. */
const announcePretty = Effect.fnUntraced(function* (baseUrl: string, access: DeveloperAccess | undefined) {
  yield* Console.log(`Quarry listens at ${baseUrl}`)
  if (access === undefined) return yield* Console.log(`The dashboard is at ${baseUrl}/dashboard`)
  const lines = [
    "",
    keyIntroduction,
    `  ${Redacted.value(access.key)}`,
    "",
    "Try it:",
    `  ${searchLine(baseUrl, access)}`,
    "",
    linkIntroduction,
    `  ${Redacted.value(access.link)}`,
    ""
  ]
  yield* Console.log(lines.join("\n"))
})

/**
 * The same as entries of a log, one object a line, whatever its level. The secrets are printed and not logged: where logs
 * are exported, they must not go with them.
 */
const announceJson = Effect.fnUntraced(function* (baseUrl: string, access: DeveloperAccess | undefined) {
  const entry = (message: string, fields: Readonly<Record<string, string>>) =>
    Effect.flatMap(DateTime.now, (now) =>
      Console.log(JSON.stringify({ message, level: "INFO", timestamp: DateTime.formatIso(now), ...fields }))
    )
  yield* entry(`Quarry listens at ${baseUrl}`, { base_url: baseUrl })
  if (access === undefined) return
  const curl = searchLine(baseUrl, access)
  yield* entry(`${keyIntroduction} ${curl}`, { base_url: baseUrl, key: Redacted.value(access.key), curl })
  const link = Redacted.value(access.link)
  yield* entry(`${linkIntroduction} ${link}`, { base_url: baseUrl, link })
})

/** Warns of every target whose searches cannot be answered. */
const warnOfUnserved = Effect.gen(function* () {
  const providers = yield* Providers
  for (const target of targets) {
    if (yield* providers.serves(target)) continue
    yield* Effect.logWarning(
      `Nothing serves ${target}: it has no provider, or only the built-in index without documents. Its searches are ` +
        "answered upstream_error and not charged. Name a provider in QUARRY_PROVIDERS or SEARXNG_URL, or fill the " +
        "index: npm run quarry -- index load FILE"
    )
  }
})

/** Warns of what callers without a credential may do where other machines reach the listener. */
const warnOfKeylessCallers = Effect.gen(function* () {
  const { compatKeylessAccount, compatKeylessNetworks = [], demoOrigin, host } = yield* AppConfig
  if (isLoopbackHost(host)) return
  if (demoOrigin !== undefined) {
    yield* Effect.logWarning(
      `DEMO_ORIGIN is set and HOST is ${host}: everybody who reaches this port may search without a key and at your expense, ` +
        `${demoPerMinute} requests a minute from each address with up to ${maxBulkRows} searches each. ` +
        "Unset DEMO_ORIGIN to stop this."
    )
  }
  if (compatKeylessAccount !== undefined) {
    yield* Effect.logWarning(
      `COMPAT_KEYLESS_ACCOUNT is set and HOST is ${host}: everybody with an address in ${compatKeylessNetworks.join(", ")} ` +
        `may spend the credits of ${compatKeylessAccount} without a key, and a container's gateway can give such an address ` +
        "to callers from anywhere. Unset COMPAT_KEYLESS_ACCOUNT, or do not publish this port, to stop this."
    )
  }
})

/** Prints on stdout that the service is up, once it listens. */
export const announce: Effect.Effect<void, never, AppConfig | FirstStart | Providers> = Effect.gen(function* () {
  const { baseUrl, billingProvider, databaseUrl, dataDir, marketplacePlan, marketplaceProxySecret, smtpUrl } =
    yield* AppConfig
  const { access } = yield* FirstStart
  if (databaseUrl === undefined) {
    const storage = dataDir === "memory:" ? "nothing is kept" : `data is kept in ${dataDir}, without fsync`
    yield* Effect.logWarning(
      `Trial storage: ${storage}. It survives a killed process, but not a power cut. Set DATABASE_URL for production.`
    )
  }
  if ((marketplacePlan === undefined) !== (marketplaceProxySecret === undefined)) {
    const unset = marketplacePlan === undefined ? "MARKETPLACE_PLAN" : "MARKETPLACE_PROXY_SECRET"
    yield* Effect.logWarning(`${unset} is not set: the marketplace is off.`)
  }
  if (billingProvider !== undefined && smtpUrl === undefined) {
    yield* Effect.logWarning(
      "SMTP_URL is not set: nobody confirms an address, and whoever signs up with the address of a customer of the payment " +
        "provider sees that customer's orders. Set it before you sell."
    )
  }
  yield* warnOfKeylessCallers
  yield* warnOfUnserved
  const print = (yield* LogFormat) === "json" ? announceJson : announcePretty
  yield* print(baseUrl, access)
})
