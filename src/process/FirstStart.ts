import { Console, Context, DateTime, Effect, Layer, Redacted } from "effect"
import { targets } from "../domain/Target.ts"
import { Accounts } from "../services/Accounts.ts"
import { KeyStore } from "../services/KeyStore.ts"
import { Providers } from "../services/Providers.ts"
import { AppConfig } from "../settings/Settings.ts"
import { LogFormat } from "./Logging.ts"
import { fillIndex } from "./starterIndex.ts"

const developerEmail = "developer@localhost"

/**
 * Prepares a store for the first search. On the embedded default the first start makes a developer account with one
 * live key and fills the index, so that the printed `curl` line works at once.
 */
export class FirstStart extends Context.Service<
  FirstStart,
  {
    /** The key made by this start, to be shown this once; undefined on every later start and on Postgres. */
    readonly secret: Redacted.Redacted | undefined
  }
>()("quarry/process/FirstStart") {
  static readonly layer = Layer.effect(
    FirstStart,
    Effect.gen(function* () {
      if ((yield* AppConfig).databaseUrl !== undefined) return { secret: undefined }
      const accounts = yield* Accounts
      const keys = yield* KeyStore
      const account = yield* accounts
        .byEmail(developerEmail)
        .pipe(Effect.catchTag("not_found", () => accounts.create({ email: developerEmail, plan: "business" })))
      // The key comes last: a first start that was cut short left no key, and the next one finishes its work.
      if ((yield* keys.list(account.id)).length > 0) return { secret: undefined }
      yield* fillIndex
      const { secret } = yield* keys.create(account.id, { label: "developer", mode: "live" })
      return { secret }
    }).pipe(Effect.orDie)
  )
}

const searchLine = (baseUrl: string, secret: Redacted.Redacted): string =>
  `curl -H 'Authorization: Bearer ${Redacted.value(secret)}' '${baseUrl}/v1/query?query=http+caching'`

const keyIntroduction = "An account for you to develop with. Its API key is shown this once:"

/** For a person at a terminal. */
const announcePretty = Effect.fnUntraced(function* (baseUrl: string, secret: Redacted.Redacted | undefined) {
  yield* Console.log(`Quarry listens at ${baseUrl}`)
  if (secret === undefined) return
  const lines = [
    "",
    keyIntroduction,
    `  ${Redacted.value(secret)}`,
    "",
    "Try it:",
    `  ${searchLine(baseUrl, secret)}`,
    ""
  ]
  yield* Console.log(lines.join("\n"))
})

/**
 * The same as entries of a log, one object a line, whatever its level. The key is printed and not logged: where logs are
 * exported, it must not go with them.
 */
const announceJson = Effect.fnUntraced(function* (baseUrl: string, secret: Redacted.Redacted | undefined) {
  const entry = (message: string, fields: Readonly<Record<string, string>>) =>
    Effect.flatMap(DateTime.now, (now) =>
      Console.log(JSON.stringify({ message, level: "INFO", timestamp: DateTime.formatIso(now), ...fields }))
    )
  yield* entry(`Quarry listens at ${baseUrl}`, { base_url: baseUrl })
  if (secret === undefined) return
  const curl = searchLine(baseUrl, secret)
  yield* entry(`${keyIntroduction} ${curl}`, { base_url: baseUrl, key: Redacted.value(secret), curl })
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

/** Prints on stdout that the service is up, once it listens. */
export const announce: Effect.Effect<void, never, AppConfig | FirstStart | Providers> = Effect.gen(function* () {
  const { baseUrl, databaseUrl, dataDir, marketplacePlan, marketplaceProxySecret } = yield* AppConfig
  const { secret } = yield* FirstStart
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
  yield* warnOfUnserved
  const print = (yield* LogFormat) === "json" ? announceJson : announcePretty
  yield* print(baseUrl, secret)
})
