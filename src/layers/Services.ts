import { NodeHttpClient } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { Bulk } from "../services/Bulk.ts"
import { Limits } from "../services/Limits.ts"
import { ProviderStates } from "../services/ProviderStates.ts"
import { Search } from "../services/Search.ts"
import { AppConfig } from "./Config.ts"
import * as Ids from "./Ids.ts"
import * as PacerMemory from "./memory/PacerMemory.ts"
import * as RateLimiterMemory from "./memory/RateLimiterMemory.ts"
import * as ResultCacheMemory from "./memory/ResultCacheMemory.ts"
import * as ProviderFile from "./providers/ProviderFile.ts"
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
  Layer.provide([NodeHttpClient.layerUndici, PacerMemory.layer, ProviderStates.layer])
)

/** Everything the public listener stands on, chosen by the settings. */
export const layer = Layer.mergeAll(Search.layer, Bulk.layer).pipe(
  Layer.provide([cache, providers]),
  Layer.provide(limits),
  Layer.provideMerge([Storage.layer, RateLimiterMemory.layer(), Ids.layer])
)
