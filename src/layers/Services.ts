import { Effect, Layer, type Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { Bulk } from "../services/Bulk.ts"
import { Limits } from "../services/Limits.ts"
import { Search } from "../services/Search.ts"
import { TrustedProxies } from "../services/TrustedProxies.ts"
import * as EmailsLog from "./auth/EmailsLog.ts"
import * as EmailsSmtp from "./auth/EmailsSmtp.ts"
import * as SessionsBetterAuth from "./auth/SessionsBetterAuth.ts"
import { AppConfig } from "./Config.ts"
import * as Ids from "./Ids.ts"
import * as RateLimiterMemory from "./memory/RateLimiterMemory.ts"
import * as ResultCacheMemory from "./memory/ResultCacheMemory.ts"
import * as ProviderFile from "./providers/ProviderFile.ts"
import { Secrets } from "./Secrets.ts"
import * as Storage from "./Storage.ts"

const limits = Layer.effect(
  Limits,
  Effect.map(AppConfig, ({ bulkBudget, providerTimeout }) => ({ bulkBudget, providerTimeout }))
)

const cache = Layer.unwrap(
  Effect.map(AppConfig, ({ cacheSize, cacheTtl }) => ResultCacheMemory.layer({ ttl: cacheTtl, capacity: cacheSize }))
)

/** The provider file wins over its short form; without either the built-in index serves every target. */
const sourceOf = ({
  quarryProviders,
  searxngEngines,
  searxngUrl
}: AppConfig["Service"]): ProviderFile.ProviderSource => {
  if (quarryProviders !== undefined) return { _tag: "file", path: quarryProviders }
  if (searxngUrl === undefined) return { _tag: "index" }
  return { _tag: "searxng", url: searxngUrl, engines: searxngEngines }
}

const providers = Layer.unwrap(Effect.map(AppConfig, (config) => ProviderFile.layer(sourceOf(config)))).pipe(
  Layer.provide(FetchHttpClient.layer)
)

const emails = Layer.unwrap(
  Effect.map(AppConfig, ({ emailFrom, smtpUrl }) =>
    smtpUrl === undefined || emailFrom === undefined
      ? EmailsLog.layer
      : EmailsSmtp.layer({ url: smtpUrl, from: emailFrom })
  )
)

const providerClient = (clientId: string | undefined, clientSecret: Redacted.Redacted | undefined) =>
  clientId === undefined || clientSecret === undefined ? undefined : { clientId, clientSecret }

const sessions = Layer.unwrap(
  Effect.gen(function* () {
    const config = yield* AppConfig
    const { authSecret } = yield* Secrets
    return SessionsBetterAuth.layer({
      baseUrl: config.baseUrl,
      secret: authSecret,
      google: providerClient(config.googleClientId, config.googleClientSecret),
      github: providerClient(config.githubClientId, config.githubClientSecret)
    })
  })
).pipe(Layer.provide(emails))

const trustedProxies = Layer.effect(
  TrustedProxies,
  Effect.map(AppConfig, ({ trustedProxyHops }) => trustedProxyHops)
)

/** Everything the public listener stands on, chosen by the settings. */
export const layer = Layer.mergeAll(Search.layer, Bulk.layer, sessions).pipe(
  Layer.provide([cache, providers]),
  Layer.provide(limits),
  Layer.provideMerge([Storage.layer, RateLimiterMemory.layer(), Ids.layer, trustedProxies])
)
