import { Effect, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import { AccountRemoval } from "../services/AccountRemoval.ts"
import { Bulk } from "../services/Bulk.ts"
import { Credentials } from "../services/Credentials.ts"
import { Deployment } from "../services/Deployment.ts"
import { Limits } from "../services/Limits.ts"
import { Search } from "../services/Search.ts"
import * as MarketplaceProxy from "./auth/MarketplaceProxy.ts"
import * as NoSessions from "./auth/NoSessions.ts"
import { AppConfig } from "./Config.ts"
import * as Ids from "./Ids.ts"
import * as RateLimiterMemory from "./memory/RateLimiterMemory.ts"
import * as ResultCacheMemory from "./memory/ResultCacheMemory.ts"
import * as ProviderFile from "./providers/ProviderFile.ts"
import * as SecretHeaders from "./SecretHeaders.ts"
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

const sessions = Layer.unwrap(
  Effect.map(AppConfig, ({ baseUrl }) => NoSessions.layer({ secure: baseUrl.startsWith("https:") }))
)

const deployment = Layer.effect(
  Deployment,
  Effect.map(AppConfig, ({ baseUrl, demoOrigin, trustedProxyHops }) => ({
    origin: new URL(baseUrl).origin,
    demoOrigin,
    trustedProxyHops
  }))
)

const marketplace = Layer.unwrap(
  Effect.map(AppConfig, ({ marketplacePlan, marketplaceProxySecret }) =>
    MarketplaceProxy.layer({ secrets: marketplaceProxySecret ?? [], plan: marketplacePlan })
  )
)

const callers = Layer.mergeAll(Credentials.layer, AccountRemoval.layer).pipe(
  Layer.provide(marketplace),
  Layer.provideMerge([sessions, deployment])
)

/** Everything the public listener stands on, chosen by the settings. */
export const layer = Layer.mergeAll(Search.layer, Bulk.layer, callers).pipe(
  Layer.provide([cache, providers]),
  Layer.provide(limits),
  Layer.provideMerge([Storage.layer, RateLimiterMemory.layer(), Ids.layer, SecretHeaders.layer])
)
