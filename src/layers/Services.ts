import { Effect, Layer } from "effect"
import { Bulk } from "../services/Bulk.ts"
import { Limits } from "../services/Limits.ts"
import { Providers } from "../services/Providers.ts"
import { Search } from "../services/Search.ts"
import { AppConfig } from "./Config.ts"
import * as Ids from "./Ids.ts"
import * as RateLimiterMemory from "./memory/RateLimiterMemory.ts"
import * as ResultCacheMemory from "./memory/ResultCacheMemory.ts"
import * as Index from "./providers/Index.ts"
import * as Storage from "./Storage.ts"
import * as DatabaseReadiness from "./sql/DatabaseReadiness.ts"

const limits = Layer.effect(
  Limits,
  Effect.map(AppConfig, ({ bulkBudget, providerTimeout }) => ({ bulkBudget, providerTimeout }))
)

const cache = Layer.unwrap(
  Effect.map(AppConfig, ({ cacheSize, cacheTtl }) => ResultCacheMemory.layer({ ttl: cacheTtl, capacity: cacheSize }))
)

/** Without a provider file the built-in index serves every target. */
const providers = Layer.unwrap(
  Effect.map(Index.make("index"), (index) =>
    Providers.layer({
      alpha_search: [index],
      beta_search: [index],
      gamma_search: [index],
      delta_search: [index],
      epsilon_search: [index],
      zeta_search: [index]
    })
  )
)

const readiness = DatabaseReadiness.layer.pipe(Layer.provide(Storage.database))

/** Everything the public listener stands on, chosen by the settings. */
export const layer = Layer.mergeAll(Search.layer, Bulk.layer, readiness).pipe(
  Layer.provide([cache, providers]),
  Layer.provide(limits),
  Layer.provideMerge([Storage.layer, RateLimiterMemory.layer(), Ids.layer])
)
